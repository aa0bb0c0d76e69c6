// Who is signed in, in every tab of this browser. The token is in a cookie that no script can read;
// this only knows whether there is one, and tells the other tabs when that changes.

let signedIn = $state(false);
const tabs = new BroadcastChannel("pecia.session");

export function isSignedIn(): boolean {
  return signedIn;
}

export function setSignedIn(value: boolean): void {
  signedIn = value;
}

/** Tell the other tabs, which then ask again who they are. */
export function announce(): void {
  tabs.postMessage("changed");
}

export function onOtherTab(changed: () => void): void {
  tabs.onmessage = changed;
}
