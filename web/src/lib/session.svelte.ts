// Who is signed in, in every tab of this browser. The token is in a cookie that no script can read;
// this only knows whether there is one, and tells the other tabs when that changes.

let signedIn = $state(false);
let ended = $state(false);
const tabs = new BroadcastChannel("pecia.session");

export function isSignedIn(): boolean {
  return signedIn;
}

export function setSignedIn(value: boolean): void {
  signedIn = value;
}

/** The server does not know this session any more. */
export function endSession(): void {
  signedIn = false;
  ended = true;
}

/** Whether that happened, until `clearEnded`. */
export function hasEnded(): boolean {
  return ended;
}

export function clearEnded(): void {
  ended = false;
}

/** Tell the other tabs, which then ask again who they are. */
export function announce(): void {
  tabs.postMessage("changed");
}

export function onOtherTab(changed: () => void): void {
  tabs.onmessage = changed;
}
