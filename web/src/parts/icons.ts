// One path each, drawn on 16 × 16 with a line of 1.5.

const circle = (x: number, y: number, r: number): string =>
  `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`;

export const ICONS = {
  home: "M2.5 7L8 2.5 13.5 7v6.5h-4v-4h-3v4h-4z",
  search: `${circle(7, 7, 4.5)}M10.5 10.5L14 14`,
  ask: "M2.5 3h11v8h-6l-3 2.5V11h-2zM6.3 6a1.7 1.7 0 1 1 2.3 1.5c-.4.2-.6.4-.6.9M8 9.6v.1",
  pin: "M6 2.5h4l-.5 4 2 2.5h-7l2-2.5zM8 9v5",
  play: "M5 3.5v9l7-4.5z",
  health: "M1.5 8.5h3l2-5 3 9 2-4h3",
  document: "M3.5 1.5h6l3 3v10h-9zM6 7.5h4M6 10.5h4",
  folder: "M1.5 3.5h4.5l1.5 2h7v7.5h-13z",
  memory: `${circle(8, 8, 6)}M8 4.5V8l2.5 2`,
  source: "M2.5 3.8a5.5 2.2 0 1 0 11 0a5.5 2.2 0 1 0-11 0v8.4c0 1.2 2.5 2.2 5.5 2.2s5.5-1 5.5-2.2V3.8M2.5 8c0 1.2 2.5 2.2 5.5 2.2s5.5-1 5.5-2.2",
  hub: `${circle(8, 8, 2)}${circle(3, 3.5, 1.5)}${circle(13, 3.5, 1.5)}${circle(8, 14, 1.5)}M4.2 4.5l2.3 2.1M11.8 4.5L9.5 6.6M8 10v2.5`,
  key: `${circle(5, 11, 3)}M7.2 8.8L13.5 2.5M11 5l2 2`,
  people: `${circle(6, 5, 2.5)}M1.5 13.5c0-3 2-4.5 4.5-4.5s4.5 1.5 4.5 4.5M10.5 2.8a2.5 2.5 0 0 1 0 4.4M12 9.4c1.6.7 2.5 2 2.5 4.1`,
  log: "M2 3.5h1M5.5 3.5H14M2 8h1M5.5 8H14M2 12.5h1M5.5 12.5H14",
  layers: "M8 2l6 3-6 3-6-3zM2 8l6 3 6-3M2 11l6 3 6-3",
  package: "M2.5 5L8 2.5 13.5 5v6L8 13.5 2.5 11zM2.5 5L8 7.5 13.5 5M8 7.5v6",
  settings: `${circle(8, 8, 2.2)}M8 1.5v2.3M8 12.2v2.3M1.5 8h2.3M12.2 8h2.3M3.4 3.4L5 5M11 11l1.6 1.6M3.4 12.6L5 11M11 5l1.6-1.6`,
  chart: "M2.5 2.5v11h11M5.5 11V8M8.5 11V5M11.5 11V7",
  jobs: "M2 4h8M2 8h12M2 12h5M12.5 2.5l1.5 1.5-1.5 1.5",
  check: "M3 8.5L6.5 12 13 4.5",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  theme: `${circle(8, 8, 5.5)}M8 3v10M9.2 3.2v9.6M10.4 3.7v8.6M11.6 4.6v6.8M12.6 6v4`,
  link: "M6.5 9.5l3-3M5.5 7L3.7 8.8a2.5 2.5 0 0 0 3.5 3.5L9 10.5M7 5.5l1.8-1.8a2.5 2.5 0 0 1 3.5 3.5L10.5 9",
  edit: "M2.5 13.5l.7-3 7.6-7.6a1.4 1.4 0 0 1 2 0l.3.3a1.4 1.4 0 0 1 0 2l-7.6 7.6z",
  history: "M2.6 8a5.4 5.4 0 1 0 1.7-3.9L2.5 5.8M2.5 2.5v3.3h3.3M8 5v3.2l2.2 1.3",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  backup: "M2.5 9.5v4h11v-4M8 10.5V2.5M4.5 6L8 2.5 11.5 6",
  download: "M8 2v8M4.5 7L8 10.5 11.5 7M2.5 13.5h11",
  close: "M4 4l8 8M12 4l-8 8",
  plus: "M8 3v10M3 8h10",
  lock: "M3.5 7.5h9v6h-9zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5",
  warn: "M8 2.5l6 11H2zM8 6.5v3M8 11.6v.2",
  agent: "M8 1.5l6.5 6.5L8 14.5 1.5 8z",
} as const;

export type IconName = keyof typeof ICONS;
