// Short messages at the bottom left: 6 seconds, longer while one has the focus. Never for errors.

export interface Message {
  id: number;
  text: string;
  undo?: () => void;
}

const SHOWN_MS = 6000;
let shown = $state.raw<Message[]>([]);
let next = 0;

export function messages(): Message[] {
  return shown;
}

export function say(text: string, undo?: () => void): void {
  const id = next++;
  shown = [...shown, { id, text, undo }];
  window.setTimeout(() => expire(id), SHOWN_MS);
}

export function dismiss(id: number): void {
  shown = shown.filter((it) => it.id !== id);
}

function expire(id: number): void {
  const isFocused = document.activeElement?.closest(`[data-message="${id}"]`);
  if (isFocused) window.setTimeout(() => expire(id), SHOWN_MS);
  else dismiss(id);
}
