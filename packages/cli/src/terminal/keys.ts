// SPDX-License-Identifier: Apache-2.0
import type { Readable } from "node:stream";
import type { ReadStream } from "node:tty";
import type { Io } from "../io.ts";

/** What each key does. */
export type KeyActions = Readonly<Record<string, () => void | Promise<void>>>;

type KeyInput = Readable & Partial<Pick<ReadStream, "isTTY" | "setRawMode">>;

/** Where keys come from; undefined when no user can press any. */
export function keysOf({ stdin, stdout }: Io): KeyInput | undefined {
  const input: KeyInput = stdin;
  return stdout.isTTY && input.isTTY === true ? input : undefined;
}

/** A terminal in raw mode sends Ctrl-C and Ctrl-D as characters. */
export const quitKeys = (quit: () => void): KeyActions => ({ "\u0003": quit, "\u0004": quit });

/** A line that the user types after a key: it takes all keys up to Enter, which passes it on, or Escape, which gives it up. */
export class KeyPrompt {
  #text: string | undefined;
  readonly #label: string;
  readonly #io: Pick<Io, "stdout">;
  readonly #entered: (text: string) => void;

  constructor(label: string, io: Pick<Io, "stdout">, entered: (text: string) => void) {
    this.#label = label;
    this.#io = io;
    this.#entered = entered;
  }

  open(): void {
    this.#text = "";
    this.#io.stdout.write(`${this.#label}: `);
  }

  /** Whether the prompt took the key. */
  type(key: string): boolean {
    const text = this.#text;
    if (text === undefined || key === "\u0003") return false;
    if (key === "\r" || key === "\n" || key === "\u001b") {
      this.#text = undefined;
      this.#io.stdout.write("\n");
      if (key !== "\u001b") this.#entered(text);
      return true;
    }
    this.#text = key === "\u007f" ? text.slice(0, -1) : text + key;
    this.#io.stdout.write(`\r${this.#label}: ${this.#text} \b`);
    return true;
  }
}

/** Calls the action of each key that is pressed, or `typed` with it, which takes all keys while it returns true. */
export function onKeys(
  input: KeyInput,
  actions: KeyActions,
  typed: (key: string) => boolean = () => false,
): Disposable {
  const pressed = (data: Buffer | string): void => {
    for (const key of data.toString()) if (!typed(key)) void actions[key.toLowerCase()]?.();
  };
  input.setRawMode?.(true);
  input.on("data", pressed);
  return {
    [Symbol.dispose]() {
      input.off("data", pressed);
      input.setRawMode?.(false);
      input.pause();
    },
  };
}
