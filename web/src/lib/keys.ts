// The keys of this machine, as its keyboard names them.

const isApple = /Mac|iPhone|iPad/.test(navigator.platform);

/** The key of shortcuts: Command on a Mac, Control elsewhere. */
export const MODIFIER = isApple ? "⌘" : "Ctrl";
