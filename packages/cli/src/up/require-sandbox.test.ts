// SPDX-License-Identifier: Apache-2.0
// `purlin up --require-sandbox` where functions cannot be sandboxed: it fails before anything starts.
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { spawnPurlin } from "../../test/spawn-purlin.ts";

const reasons: Readonly<Record<string, RegExp>> = {
  none: /PURLIN_SANDBOX=none/,
  "/bin/false": /\/bin\/false/,
  bwrap: /must be an absolute path or none/,
};
for (const [sandbox, reason] of Object.entries(reasons)) {
  test(`--require-sandbox fails with exit code 1 when PURLIN_SANDBOX is ${sandbox}`, async () => {
    using folder = tempFolder({});
    await using running = spawnPurlin(["up", "--require-sandbox"], {
      cwd: folder.path,
      env: { PURLIN_SANDBOX: sandbox },
    });
    const exited = once(running.child, "exit");
    const [text] = await running.next("stderr", /--require-sandbox: .*\n/);
    assert.match(text, reason);
    assert.match(text, /install bubblewrap .* or start without --require-sandbox/);
    assert.deepEqual(await exited, [1, null]);
    assert.ok(!existsSync(join(folder.path, ".purlin/port")), "no control plane was started");
  });
}
