// SPDX-License-Identifier: Apache-2.0

/** A message from the process of one version of a function to its supervisor. */
export type WorkerMessage =
  /** A file that is part of the function was loaded. */
  | { readonly type: "module"; readonly file: string }
  /** The file exports a function, which is about to be served. */
  | { readonly type: "loaded" }
  | { readonly type: "serving"; readonly address: string }
  /** This version will not serve. `setup` when the cause is not the code but flags, certificates or the address. */
  | { readonly type: "failed"; readonly text: string; readonly setup: boolean };

/** Whether it is a message of ours and not one that a function sent by itself. */
export function isWorkerMessage(value: unknown): value is WorkerMessage {
  const type = (value as { readonly type?: unknown } | null)?.type;
  return type === "module" || type === "loaded" || type === "serving" || type === "failed";
}
