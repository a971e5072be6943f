// SPDX-License-Identifier: Apache-2.0
// What kubectl explain says about our kinds.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { compositionCrds, keptCrds } from "@purlin/composition";
import { type ApiServer, mastersGroup, startApiServer } from "@purlin/kube-apiserver";
import { builtinKinds } from "@purlin/kube-builtin";
import { createDirectTransport, createKubeClient } from "@purlin/kube-client";
import { installCrds } from "@purlin/kube-controller";
import { packageCrds } from "@purlin/package-manager";
import { cacheDirectory } from "../../../tools/peers/cache-directory.ts";
import { kubernetes } from "../../../tools/peers/kubernetes.ts";
import { installed } from "../../../tools/peers/peer.ts";
import { eventually } from "../../e2e/harness/plane.ts";
import { runProgram } from "./run-program.ts";

const crds = [
  ...compositionCrds(),
  ...keptCrds(),
  ...packageCrds({ functionRevisionSelectors: true, functionRollouts: true }),
];
let directory: string;
let server: ApiServer;
let kubeconfig: string;

before(async () => {
  directory = mkdtempSync(join(tmpdir(), "explain-"));
  server = await startApiServer({ kinds: builtinKinds, directory: join(directory, "data") });
  kubeconfig = join(directory, "kubeconfig");
  writeFileSync(kubeconfig, (await server.listen()).kubeconfig, { mode: 0o600 });
  const client = createKubeClient(createDirectTransport(server.handle, { name: "admin", groups: [mastersGroup] }));
  await installCrds(client, crds);
  await client.close();
  await eventually("the schemas are published", async () =>
    (await explain("deploymentruntimeconfigs")).includes("DESCRIPTION"),
  );
});
after(async () => {
  await server.close();
  rmSync(directory, { recursive: true, force: true });
});

async function explain(path: string): Promise<string> {
  const program = join(installed(kubernetes, cacheDirectory), "kubectl");
  const env = { KUBECONFIG: kubeconfig, HOME: directory };
  const { exitCode, stdout, stderr } = await runProgram({ program, args: ["explain", path], env });
  assert.equal(exitCode, 0, stderr);
  return stdout;
}

test("kubectl explain composition.spec.pipeline.functionRevisionSelector reads like documentation", async () => {
  const text = (await explain("composition.spec.pipeline.functionRevisionSelector")).replaceAll(/\s+/g, " ");
  assert.match(text, /GROUP: apiextensions\.crossplane\.io KIND: Composition VERSION: v1/);
  assert.match(
    text,
    /DESCRIPTION: Chooses among the active FunctionRevisions of the Function in functionRef by their labels\./,
  );
  assert.match(text, /FIELDS: matchLabels <map\[string\]string> -required- Labels that a FunctionRevision must have/);
});

/** The fields that every object has are the API server's to describe, and the embedded one has no texts for them. */
const ofServer = ["apiVersion", "kind", "metadata"];

for (const { metadata } of crds) {
  test(`kubectl explain has descriptions for ${metadata.name}, down to its fields`, async () => {
    const name = metadata.name ?? "";
    const hasSpec = !/^(locks|environmentconfigs)\./.test(name);
    for (const path of [name, ...(hasSpec ? [`${name}.spec`] : [])]) {
      const text = await explain(path);
      const fields = [...text.matchAll(/^ {2}(\w+)\t<.*\n +<no description>$/gm)].map(([, field = ""]) => field);
      assert.deepEqual(
        fields.filter((field) => path !== name || !ofServer.includes(field)),
        [],
        `${path}:\n${text}`,
      );
      assert.match(text, /\nDESCRIPTION:\n {4}\w/);
    }
  });
}
