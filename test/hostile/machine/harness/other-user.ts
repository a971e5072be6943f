// SPDX-License-Identifier: Apache-2.0
// Another user of the machine: a process without rights over the files and processes of the user who runs the tests.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Attack, Outcome } from "./other-user-worker.ts";

/** User ids that no user of a machine has. */
export const otherUid = 61_234;
export const plainUid = 61_235;

/** Another user, who runs the requested attempts. */
export interface OtherUser extends AsyncDisposable {
  /** What came of it: a value, or the code of an error. */
  attempt(attack: Attack): Promise<Outcome>;
}

/** Starts a process of another user. */
export async function otherUser(uid: number = otherUid): Promise<OtherUser> {
  if (process.getuid?.() !== 0) {
    throw new Error("these tests need a second user, and only root can become one: run the suite as root");
  }
  const worker = fork(join(import.meta.dirname, "other-user-worker.ts"), [String(uid)], {
    stdio: "inherit",
    execArgv: [],
  });
  await once(worker, "message");
  let last = 0;
  return {
    attempt: (attack) => ask(worker, ++last, attack),
    async [Symbol.asyncDispose]() {
      const exited = once(worker, "exit");
      worker.kill("SIGKILL");
      await exited;
    },
  };
}

async function ask(worker: ChildProcess, id: number, attack: Attack): Promise<Outcome> {
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const listen = (message: { id: number; outcome: Outcome }): void => {
    if (message.id === id) resolve(message.outcome);
  };
  worker.on("message", listen);
  worker.send({ id, attack });
  try {
    return await promise;
  } finally {
    worker.off("message", listen);
  }
}

/** A folder that every user can enter, and only its owner can write to. */
export function sharedFolder(mode = 0o755): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), "purlin-machine-"));
  chmodSync(path, mode);
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}
