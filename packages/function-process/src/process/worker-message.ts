// SPDX-License-Identifier: Apache-2.0

/** What the process of one version of a function tells the process that watches over it. */
export type WorkerMessage =
  /** A file that is part of the function was loaded. */
  | { readonly type: "module"; readonly file: string }
  /** The file exports a function, which is about to be served. */
  | { readonly type: "loaded" }
  | { readonly type: "serving"; readonly address: string }
  /** This version will not serve. `setup` when the cause is not the code but flags, certificates or the address. */
  | { readonly type: "failed"; readonly text: string; readonly setup: boolean };

/** Tells a message of ours from what a function might send by itself. */
export function isWorkerMessage(value: unknown): value is WorkerMessage {
  const type = (value as { readonly type?: unknown } | null)?.type;
  return type === "module" || type === "loaded" || type === "serving" || type === "failed";
}
