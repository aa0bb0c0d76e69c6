// uPlot, and how we draw with it.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

interface Drawing {
  height: number;
  unit: string;
  bars: boolean;
  lines: { name: string; token: string; isDashed?: boolean }[];
  colour: (token: string) => string;
  data: (number | null)[][];
}

const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });

/** A value of an axis: long times in seconds. */
function label(value: number, unit: string): string {
  if (unit === "ms" && value >= 1000) return `${value / 1000} s`;
  return unit ? `${value} ${unit}` : `${value}`;
}

export function draw(host: HTMLElement, it: Drawing): uPlot {
  const axis = { stroke: () => it.colour("--ink-3"), grid: { stroke: () => it.colour("--line"), width: 1 }, ticks: { show: false }, font: "12px sans-serif" };
  const paths = it.bars ? uPlot.paths.bars!({ size: [0.8, 24] }) : undefined;
  return new uPlot(
    {
      width: host.clientWidth,
      height: it.height,
      legend: { show: false },
      cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false } },
      scales: { y: { range: (_, __, max) => [0, Math.max(max * 1.1, 1)] } },
      axes: [
        { ...axis, grid: { show: false }, values: (_, splits) => splits.map((value) => CLOCK.format(value * 1000)).map((text, at, all) => (text === all[at - 1] ? "" : text)) },
        { ...axis, size: 56, values: (_, splits) => splits.map((value) => label(value, it.unit)) },
      ],
      series: [
        {},
        ...it.lines.map((line) => ({
          label: line.name,
          stroke: () => it.colour(line.token),
          fill: it.bars ? () => it.colour(line.token) : undefined,
          width: 1.5,
          dash: line.isDashed ? [4, 3] : undefined,
          spanGaps: true,
          points: { show: false },
          paths,
        })),
      ],
    },
    it.data as uPlot.AlignedData,
    host,
  );
}
