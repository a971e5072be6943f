// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import type { FunctionProcesses } from "@purlin/function-process";
import { mastersGroup } from "@purlin/kube-apiserver";
import { createDirectTransport, createKubeClient } from "@purlin/kube-client";
import { installCrds } from "@purlin/kube-controller";
import { functionCrds } from "@purlin/package-manager";
import { startEmbeddedServer } from "../apiserver/embedded-server.ts";
import { followFunctions, functionType } from "./source-functions.ts";

test("a source file runs for as long as the files of its Function name it", async () => {
  using folder = tempFolder();
  await using embedded = await startEmbeddedServer({ directory: join(folder.path, "d"), port: 0, warn: () => {} });
  const operator = { name: "admin", groups: [mastersGroup] };
  const client = createKubeClient(createDirectTransport(embedded.server.handle, operator));
  await installCrds(client, functionCrds({ functionRevisionSelectors: false }), {
    signal: AbortSignal.timeout(60_000),
  });
  let pending = Promise.withResolvers<string>();
  const next = async (): Promise<string> => {
    const text = await pending.promise;
    pending = Promise.withResolvers();
    return text;
  };
  // Real processes are started in the tests of the package that runs them.
  const processes = {
    run: ({ name, program }: { name: string; program: { file: string } }) =>
      pending.resolve(`run ${name} from ${program.file}`),
    stop: async (name: string) => pending.resolve(`stop ${name}`),
  } as unknown as FunctionProcesses;
  const within = { folders: ["/project"], except: [] };
  const following = followFunctions(client, processes, { cwd: "/project", within });
  const functionFrom = (source: string | null, fieldManager = "purlin-apply"): Promise<unknown> =>
    client.apply(
      { ...functionType, metadata: { name: "fn", ...(source && { annotations: { "purlin.dev/source": source } }) } },
      { fieldManager, force: true },
    );
  await functionFrom("a.ts");
  assert.equal(await next(), "run fn from /project/a.ts");
  await functionFrom("/elsewhere/b.ts");
  assert.equal(await next(), "run fn from /elsewhere/b.ts");
  await functionFrom(null);
  assert.equal(await next(), "stop fn");
  await functionFrom("a.ts");
  assert.equal(await next(), "run fn from /project/a.ts");
  await functionFrom("b.ts", "another-manager");
  assert.equal(await next(), "stop fn");
  await functionFrom("a.ts");
  assert.equal(await next(), "run fn from /project/a.ts");
  await client.delete({ ...functionType, name: "fn" });
  assert.equal(await next(), "stop fn");
  await following.stop();
  await client.close();
});
