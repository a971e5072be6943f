// SPDX-License-Identifier: Apache-2.0
// The messages between the thread that fuzzes and the thread that supervises it.

/** How a thread is started. */
export interface FuzzOrder {
  readonly target: string;
  readonly seed: number;
  readonly milliseconds: number;
  /** How many inputs to report at the end: those that reached the most code that no input before them reached. Default 0. */
  readonly keep?: number;
  /** Runs only this input, without coverage. */
  readonly replay?: Uint8Array;
  /** Where the current input is written before it is run. */
  readonly current: SharedArrayBuffer;
}

/** What a thread reports. */
export type FuzzReport =
  | { readonly kind: "progress"; readonly executions: number; readonly blocks: number; readonly pool: number }
  | { readonly kind: "finding"; readonly bytes: Uint8Array; readonly error: string }
  | ({ readonly kind: "reached" } & Reached);

/** An input, and how many blocks of code it was the first to reach. */
export interface Reached {
  readonly bytes: Uint8Array;
  readonly blocks: number;
}

/** The input that is being run: a state word, its length, its bytes. */
export interface CurrentInput {
  /** Changes with each input; even while no input is run. */
  readonly turn: number;
  begin(input: Uint8Array): void;
  end(): void;
  bytes(): Buffer;
}

const headerBytes = 8;

/** Room for one input. */
export const currentInputBuffer = (): SharedArrayBuffer => new SharedArrayBuffer(headerBytes + 4 * 1024 * 1024);

/** A view of the shared input. */
export function currentInput(buffer: SharedArrayBuffer): CurrentInput {
  const header = new Int32Array(buffer, 0, 2);
  const content = new Uint8Array(buffer, headerBytes);
  return {
    get turn() {
      return Atomics.load(header, 0);
    },
    begin: (input) => {
      content.set(input.subarray(0, content.length));
      Atomics.store(header, 1, Math.min(input.length, content.length));
      Atomics.add(header, 0, 1);
    },
    end: () => void Atomics.add(header, 0, 1),
    bytes: () => Buffer.from(content.slice(0, Atomics.load(header, 1))),
  };
}
