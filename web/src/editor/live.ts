// A live document over the websocket of the server: sync, presence, what is stored, and reconnects.
//
// The text is Y.Text("source"), the whole file. A change counts as stored when the server says that
// its row is committed (message 4), never before. It counts our answers to a sync, too.

import * as decoding from "lib0/decoding";
import * as encoding from "lib0/encoding";
import * as awareness from "y-protocols/awareness";
import * as sync from "y-protocols/sync";
import * as Y from "yjs";
import { explain, type Closure } from "./closures";

const SYNC = 0;
const AWARENESS = 1;
const REFUSAL = 2;
const STORED = 4;
const RIGHTS = 5;

/** Keystrokes of this long are one message. */
const BATCH_MS = 20;
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 15_000;
const GONE_RETRY_MS = 3_000;
const REMOTE = "remote";

export interface LiveStatus {
  /** `stopped` waits for the person, `waiting` for the next attempt. */
  phase: "connecting" | "open" | "waiting" | "stopped";
  /** The text of the server has come at least once. */
  isLoaded: boolean;
  /** Something was typed that the server has not confirmed. */
  isDirty: boolean;
  /** null before the server has said. */
  mayWrite: boolean | null;
  /** Why a change was not taken, while the socket stays open. */
  refusal: string | null;
  closure: Closure | null;
}

export interface LiveOptions {
  address: () => { url: string; protocols: string[] };
  /** What is wrong where a browser only says that a socket could not be opened. */
  probe: () => Promise<Closure | null>;
  onstatus: (status: LiveStatus) => void;
  /** What was typed at another address of the same document, as a Yjs update. */
  carried?: Uint8Array;
}

export class LiveDocument {
  readonly doc = new Y.Doc();
  readonly text = this.doc.getText("source");
  readonly awareness = new awareness.Awareness(this.doc);
  status: LiveStatus = {
    phase: "connecting",
    isLoaded: false,
    isDirty: false,
    mayWrite: null,
    refusal: null,
    closure: null,
  };

  private socket: WebSocket | null = null;
  private sent = 0;
  private stored = 0;
  private waiting: Uint8Array[] = [];
  private batchTimer = 0;
  private retryTimer = 0;
  private attempts = 0;
  private isClosed = false;
  private readonly wake = (): void => {
    if (this.status.phase === "waiting" && document.visibilityState === "visible") this.connect();
  };

  constructor(private readonly options: LiveOptions) {
    this.doc.on("update", (update: Uint8Array, origin: unknown) => {
      if (origin !== REMOTE) this.changed(update);
    });
    this.awareness.on("update", (_: unknown, origin: unknown) => {
      if (origin === "local") this.sendAwareness();
    });
    window.addEventListener("online", this.wake);
    document.addEventListener("visibilitychange", this.wake);
    if (options.carried) Y.applyUpdate(this.doc, options.carried);
    this.connect();
  }

  /** Connect at once, whatever the wait. */
  connect(): void {
    window.clearTimeout(this.retryTimer);
    if (this.isClosed || this.socket) return;
    const { url, protocols } = this.options.address();
    // While it is looked for again, what stands in the way stays in sight.
    if (this.status.closure?.then !== "gone") this.tell({ phase: "connecting" });
    const socket = new WebSocket(url, protocols);
    socket.binaryType = "arraybuffer";
    let wasOpen = false;
    this.socket = socket;
    this.sent = this.stored = 0;
    this.waiting = [];
    socket.onopen = () => {
      wasOpen = true;
      const message = encoder(SYNC);
      sync.writeSyncStep1(message, this.doc);
      this.send(message);
      this.sendAwareness();
      this.tell({ phase: "open", closure: null, refusal: null });
    };
    socket.onmessage = (event) => this.receive(new Uint8Array(event.data as ArrayBuffer));
    socket.onclose = (event) => {
      if (this.socket === socket) void this.closed(event, wasOpen);
    };
  }

  /** Leave the document. What was not stored is not sent any more. */
  close(): void {
    this.isClosed = true;
    window.clearTimeout(this.retryTimer);
    window.removeEventListener("online", this.wake);
    document.removeEventListener("visibilitychange", this.wake);
    this.flush();
    awareness.removeAwarenessStates(this.awareness, [this.doc.clientID], "local");
    this.awareness.destroy();
    this.socket?.close(1000);
    this.socket = null;
    this.doc.destroy();
  }

  /** All that this tab has, to go on with at another address. */
  state(): Uint8Array {
    return Y.encodeStateAsUpdate(this.doc);
  }

  private changed(update: Uint8Array): void {
    this.tell({ isDirty: true });
    // Without a connection nothing is queued: the sync after the next one sends everything.
    if (this.socket?.readyState !== WebSocket.OPEN) return;
    this.waiting.push(update);
    if (!this.batchTimer) this.batchTimer = window.setTimeout(() => this.flush(), BATCH_MS);
  }

  private flush(): void {
    window.clearTimeout(this.batchTimer);
    this.batchTimer = 0;
    if (!this.waiting.length || this.socket?.readyState !== WebSocket.OPEN) return;
    const message = encoder(SYNC);
    sync.writeUpdate(message, this.waiting.length === 1 ? this.waiting[0]! : Y.mergeUpdates(this.waiting));
    this.waiting = [];
    this.sent += 1;
    this.send(message);
  }

  private send(message: encoding.Encoder): void {
    this.socket?.send(encoding.toUint8Array(message) as Uint8Array<ArrayBuffer>);
  }

  private sendAwareness(): void {
    if (this.socket?.readyState !== WebSocket.OPEN) return;
    const message = encoder(AWARENESS);
    encoding.writeVarUint8Array(message, awareness.encodeAwarenessUpdate(this.awareness, [this.doc.clientID]));
    this.send(message);
  }

  private receive(data: Uint8Array): void {
    const reader = decoding.createDecoder(data);
    switch (decoding.readVarUint(reader)) {
      case SYNC:
        this.synced(reader);
        break;
      case AWARENESS:
        awareness.applyAwarenessUpdate(this.awareness, decoding.readVarUint8Array(reader), REMOTE);
        break;
      case REFUSAL:
        decoding.readVarUint(reader);
        this.tell({ refusal: decoding.readVarString(reader) });
        break;
      case STORED:
        this.stored = decoding.readVarUint(reader);
        if (this.stored >= this.sent && !this.waiting.length) this.tell({ isDirty: false, refusal: null });
        break;
      case RIGHTS:
        this.tell({ mayWrite: decoding.readVarUint(reader) === 1 });
        break;
    }
  }

  private synced(reader: decoding.Decoder): void {
    const reply = encoder(SYNC);
    const before = encoding.length(reply);
    const step = sync.readSyncMessage(reader, reply, this.doc, REMOTE);
    if (encoding.length(reply) > before) {
      // The answer has everything that was typed so far.
      window.clearTimeout(this.batchTimer);
      this.batchTimer = 0;
      this.waiting = [];
      this.sent += 1;
      this.send(reply);
    }
    if (step === sync.messageYjsSyncStep2) {
      this.attempts = 0;
      this.tell({ isLoaded: true });
    }
  }

  private async closed(event: CloseEvent, wasOpen: boolean): Promise<void> {
    this.socket = null;
    const others = [...this.awareness.getStates().keys()].filter((it) => it !== this.doc.clientID);
    awareness.removeAwarenessStates(this.awareness, others, REMOTE);
    let closure = explain(event.code);
    if (!wasOpen) {
      if (this.status.closure?.then !== "gone") this.tell({ phase: "waiting" });
      closure = (await this.options.probe()) ?? closure;
    }
    if (this.isClosed || this.socket) return;
    this.tell({ phase: closure.then === "retry" ? "waiting" : "stopped", closure });
    // A file that a checkout or a program took away for a moment comes back: its document goes on.
    if (closure.then !== "retry" && closure.then !== "gone") return;
    const wait = closure.then === "gone" ? GONE_RETRY_MS : Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** this.attempts++);
    this.retryTimer = window.setTimeout(() => this.connect(), wait * (0.5 + Math.random() / 2));
  }

  private tell(news: Partial<LiveStatus>): void {
    const isNew = Object.entries(news).some(([name, it]) => this.status[name as keyof LiveStatus] !== it);
    if (!isNew) return;
    this.status = { ...this.status, ...news };
    this.options.onstatus(this.status);
  }
}

function encoder(kind: number): encoding.Encoder {
  const made = encoding.createEncoder();
  encoding.writeVarUint(made, kind);
  return made;
}
