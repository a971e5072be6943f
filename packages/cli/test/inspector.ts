// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import type { Readable } from "node:stream";

/** A debugger of a Node program: what an editor does over the inspector protocol. */
export interface Inspector extends AsyncDisposable {
  /** Calls a method and resolves to its result. */
  call(method: string, params?: object): Promise<Record<string, unknown>>;
  /** Resolves to the parameters of the next event of this name. */
  next(event: string): Promise<Record<string, unknown>>;
  /** The addresses of scripts by their id. */
  readonly scripts: ReadonlyMap<string, string>;
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
}

/** Connects to the address that Node prints on standard error: `Debugger listening on ws://…`. */
export async function attachInspector(stderr: Readable): Promise<Inspector> {
  return connectInspector(await listeningAddress(stderr));
}

/** Connects to an inspector by the address of its WebSocket. */
export async function connectInspector(address: string): Promise<Inspector> {
  const socket = new WebSocket(address);
  const answers = new Map<number, (result: Record<string, unknown>) => void>();
  const events: Message[] = [];
  const scripts = new Map<string, string>();
  let wake = Promise.withResolvers<void>();
  socket.addEventListener("message", ({ data }) => {
    const message = JSON.parse(String(data)) as Message;
    const { scriptId, url } = message.params ?? {};
    if (message.method === "Debugger.scriptParsed") scripts.set(String(scriptId), String(url));
    else if (message.id === undefined) events.push(message);
    else answers.get(message.id)?.(message.result ?? {});
    wake.resolve();
    wake = Promise.withResolvers();
  });
  const opened = Promise.withResolvers<void>();
  socket.addEventListener("open", () => opened.resolve());
  socket.addEventListener("error", () => opened.reject(new Error(`no inspector at ${address}`)));
  await opened.promise;
  let last = 0;
  return {
    scripts,
    async call(method, params = {}) {
      const id = ++last;
      const answered = Promise.withResolvers<Record<string, unknown>>();
      answers.set(id, answered.resolve);
      socket.send(JSON.stringify({ id, method, params }));
      return answered.promise;
    },
    async next(event) {
      for (;;) {
        const at = events.findIndex(({ method }) => method === event);
        if (at !== -1) return events.splice(at, 1)[0]?.params ?? {};
        await wake.promise;
      }
    },
    async [Symbol.asyncDispose]() {
      socket.close();
    },
  };
}

async function listeningAddress(stderr: Readable): Promise<string> {
  let text = "";
  for await (const chunk of stderr.iterator({ destroyOnReturn: false })) {
    text += String(chunk);
    const [, address] = /^Debugger listening on (ws:\S+)$/m.exec(text) ?? [];
    if (address !== undefined) return address;
  }
  return assert.fail(`no debugger was started: ${text}`);
}
