// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import type { Explanation } from "@purlin/explain";
import { type Outcome, runInProcess } from "../../test/test-io.ts";
import { type EmbeddedServer, startEmbeddedServer } from "../apiserver/embedded-server.ts";
import type { Io } from "../io.ts";
import { withTypedCommands } from "./explain-command.ts";

let folder: TempFolder;
let server: EmbeddedServer;
const explain = (...args: string[]): Promise<Outcome> => runInProcess(["explain", ...args], { cwd: folder.path });

before(async () => {
  folder = tempFolder({
    "maps.yaml":
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: fine}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: quiet, annotations: {crossplane.io/paused: 'true'}}\n",
  });
  server = await startEmbeddedServer({ directory: join(folder.path, ".purlin"), port: 0, warn: () => {} });
  assert.equal((await runInProcess(["apply", "maps.yaml"], { cwd: folder.path })).exitCode, 0);
});
after(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

test("a healthy object is one line and exit code 0", async () => {
  assert.deepEqual(await explain("configmap/fine"), {
    exitCode: 0,
    stdout: "ConfigMap default/fine is healthy\n",
    stderr: "",
  });
});

test("a cause is printed with its effect, evidence and next step, and the exit code is 3", async () => {
  const { exitCode, stdout } = await explain("configmap", "quiet");
  assert.equal(exitCode, 3);
  assert.equal(
    stdout,
    [
      "Cause:    E08 PAUSED: ConfigMap default/quiet is paused",
      "Effect:   ConfigMap default/quiet",
      'Evidence: ConfigMap default/quiet metadata.annotations["crossplane.io/paused"]: true',
      "Next:     kubectl annotate configmap/quiet -n default crossplane.io/paused-",
      "",
    ].join("\n"),
  );
  const json = await explain("configmap/quiet", "-o", "json");
  const { kind, verdict, causes } = JSON.parse(json.stdout) as {
    kind: string;
    verdict: string;
    causes: { code: string; effects: string[] }[];
  };
  assert.deepEqual([json.exitCode, kind, verdict, causes[0]?.code], [3, "Explanation", "broken", "E08"]);
});

test("an object that waits is exit code 4, and one that waits for too long without a known cause 5", async () => {
  const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: waits.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {kind: Wait, plural: waits}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`;
  const object = (name: string, since: string): string => `---
apiVersion: example.org/v1
kind: Wait
metadata: {name: ${name}, finalizers: [example.org/controller]}
status:
  conditions:
  - {type: Synced, status: "True", reason: ReconcileSuccess, lastTransitionTime: "${since}"}
  - {type: Ready, status: "False", reason: Unfamiliar, message: an unfamiliar text, lastTransitionTime: "${since}"}
`;
  const now = new Date().toISOString();
  const stdin = crd + object("young", now) + object("old", "2020-01-01T00:00:00Z");
  const applied = await runInProcess(["apply", "-f", "-"], { cwd: folder.path, stdin });
  assert.equal(applied.exitCode, 0, applied.stderr);
  const young = await explain("wait/young");
  assert.equal(young.exitCode, 4, young.stdout);
  const old = await explain("wait/old");
  assert.equal(old.exitCode, 5, old.stdout);
  assert.match(old.stdout, /Unfamiliar: an unfamiliar text/);
});

test("next steps name the command as the user types it", async () => {
  const { stdout } = await explain("configmap/quiet", "-o", "json");
  const explanation = JSON.parse(stdout) as Explanation;
  const next = [
    "purlin logs f",
    "start it: purlin up, or purlin start on a cluster",
    "read purlin.dev/source of my-purlin x",
  ];
  const causes = explanation.causes.map((cause) => ({ ...cause, next }));
  const typed = (env: Io["env"]): unknown => withTypedCommands({ ...explanation, causes }, { env }).causes[0]?.next;
  assert.deepEqual(typed({}), next);
  assert.deepEqual(typed({ npm_command: "exec" }), [
    "npx purlin logs f",
    "start it: npx purlin up, or npx purlin start on a cluster",
    "read purlin.dev/source of my-purlin x",
  ]);
});

test("an API server without XRDs has nothing unhealthy", async () => {
  const { exitCode, stdout } = await explain();
  assert.deepEqual([exitCode, stdout], [0, "All 0 claims and composite resources, and all packages, are healthy\n"]);
});

test("an object that does not exist is exit code 1, also as one JSON document", async () => {
  const text = await explain("configmap/absent");
  assert.deepEqual([text.exitCode, text.stdout], [1, ""]);
  assert.match(text.stderr, /configmaps "absent" not found: check the name and --namespace/);
  const json = await explain("configmap/absent", "-o", "json");
  const { errors } = JSON.parse(json.stdout) as { errors: { message: string }[] };
  assert.equal(json.exitCode, 1);
  assert.match(errors[0]?.message ?? "", /not found/);
});

test("a code is documented without a control plane; unknown codes and formats are exit code 2", async () => {
  const { exitCode, stdout } = await runInProcess(["explain", "--code", "e11"], { cwd: "/" });
  assert.deepEqual([exitCode, stdout.split("\n")[0]], [0, "E11 FUNCTION_NOT_INSTALLED"]);
  const unknown = await explain("--code", "E99");
  assert.deepEqual([unknown.exitCode, unknown.stderr], [2, "error: --code E99: unknown code: expected E01 to E68\n"]);
  assert.equal((await explain("-o", "xml")).exitCode, 2);
});
