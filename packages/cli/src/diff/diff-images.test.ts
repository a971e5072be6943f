// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import type { Io } from "../io.ts";
import type { CommandInput } from "../options/command-spec.ts";
import { isUserError } from "../user-error.ts";
import { prepareImages } from "./diff-images.ts";

const input: CommandInput = { args: [], options: {} };
const override = { name: "f", kind: "image", source: "127.0.0.1:1/f:v1" } as const;

async function problemOf(files: Readonly<Record<string, string>>, sandbox: string): Promise<unknown> {
  using folder = tempFolder(files);
  await using opening = new AsyncDisposableStack();
  const io = {
    cwd: folder.path,
    env: { PURLIN_SANDBOX: sandbox },
    signal: AbortSignal.timeout(60_000),
  } as Partial<Io> as Io;
  return await prepareImages([override], { input, io, cluster: undefined, opening }).catch((error: unknown) => error);
}

test("where purlin.yaml requires a sandbox, no package is fetched or run without one", async () => {
  const problem = await problemOf({ "purlin.yaml": "functions:\n  requireSandbox: true\n" }, "none");
  assert.ok(isUserError(problem), String(problem));
  assert.match(
    problem.message,
    /^packages of functions cannot be sandboxed here: .*PURLIN_SANDBOX=none.*; install bubblewrap/,
  );
  assert.match(problem.message, /or remove functions\.requireSandbox from purlin\.yaml$/);
});

test("elsewhere the package is fetched", async () => {
  for (const files of [{}, { "purlin.yaml": "functions:\n  requireSandbox: false\n" }]) {
    const problem = await problemOf(files, "none");
    // Nothing listens at its address.
    assert.match(String(problem), /127\.0\.0\.1:1/);
    assert.doesNotMatch(String(problem), /sandbox/);
  }
});
