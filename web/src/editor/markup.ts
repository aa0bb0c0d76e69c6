// Keys that know Markdown: lists and quotes go on with the next line, marks around a selection.

import { EditorSelection, type ChangeSpec, type StateCommand } from "@codemirror/state";

const ITEM = /^(\s*)(?:([-*+])(\s+)(\[[ xX]\]\s+)?|(\d{1,9})([.)])(\s+)|(>)(\s?))/;

/** Enter in a list or a quote: the next line begins like this one; on an empty item, it ends. */
export const continueMarkup: StateCommand = ({ state, dispatch }) => {
  const { main } = state.selection;
  if (state.readOnly || !main.empty || state.selection.ranges.length > 1) return false;
  const line = state.doc.lineAt(main.head);
  const found = ITEM.exec(line.text);
  if (!found || main.head < line.from + found[0].length) return false;
  if (!line.text.slice(found[0].length).trim()) {
    dispatch(state.update({ changes: { from: line.from, to: line.from + found[0].length }, userEvent: "delete" }));
    return true;
  }
  const [, indent = "", bullet, gap, task, number, point, gapAfter, quote, gapQuote] = found;
  const lead = bullet
    ? indent + bullet + gap + (task ? "[ ] " : "")
    : number
      ? indent + (Number(number) + 1) + point + gapAfter
      : indent + quote + gapQuote;
  const insert = `\n${lead}`;
  dispatch(
    state.update({
      changes: { from: main.head, insert },
      selection: { anchor: main.head + insert.length },
      scrollIntoView: true,
      userEvent: "input",
    }),
  );
  return true;
};

/** Put a mark around the selection, or take it away. */
export function toggleMark(mark: string): StateCommand {
  return ({ state, dispatch }) => {
    if (state.readOnly) return false;
    const size = mark.length;
    const made = state.changeByRange((range) => {
      const around = [state.sliceDoc(range.from - size, range.from), state.sliceDoc(range.to, range.to + size)];
      const isOn = around[0] === mark && around[1] === mark;
      const changes: ChangeSpec = isOn
        ? [{ from: range.from - size, to: range.from }, { from: range.to, to: range.to + size }]
        : [{ from: range.from, insert: mark }, { from: range.to, insert: mark }];
      const by = isOn ? -size : size;
      return { changes, range: EditorSelection.range(range.anchor + by, range.head + by) };
    });
    dispatch(state.update(made, { userEvent: "input", scrollIntoView: true }));
    return true;
  };
}
