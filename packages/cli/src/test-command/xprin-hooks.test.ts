// SPDX-License-Identifier: Apache-2.0
// Hooks of suites of xprin, in the shapes that its own examples have: what a test lacks while they are not run, and what they do when allowed.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { type Outcome, runInProcess } from "../../test/test-io.ts";
import { templatePattern } from "./xprin-hooks.ts";

const files = {
  "fn.ts": `import { request, response } from "@purlin/function-sdk";
export default (req, ctx) => {
  const rsp = ctx.to(req);
  const { spec = {}, status = {} } = request.getObservedCompositeResource(req).resource.object;
  const data = { size: spec.size ?? "none", seen: status.seen ?? "no", tier: String(request.getContextKey(req, "tier") ?? "") };
  response.setDesiredComposedResource(rsp, "map", { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "shop-map", namespace: "default" }, data });
  return rsp;
};
`,
  "functions.yaml":
    "apiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: fn, annotations: {purlin.dev/source: fn.ts}}\n",
  "composition.yaml": `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: apps}
spec:
  compositeTypeRef: {apiVersion: e.org/v1, kind: XApp}
  mode: Pipeline
  pipeline: [{step: compose, functionRef: {name: fn}}]
`,
  "xr.yaml": "apiVersion: e.org/v1\nkind: XApp\nmetadata: {name: shop}\nspec: {size: small}\n",
};

const common = "common: {inputs: {xr: xr.yaml, composition: composition.yaml, functions: functions.yaml}}\n";

function projectWith(more: Readonly<Record<string, string>>): TempFolder {
  const folder = tempFolder({ ...files, ...more });
  const sdk = dirname(dirname(fileURLToPath(import.meta.resolve("@purlin/function-sdk"))));
  mkdirSync(join(folder.path, "node_modules/@purlin"), { recursive: true });
  symlinkSync(sdk, join(folder.path, "node_modules/@purlin/function-sdk"));
  return folder;
}
const env = { HOME: "/nonexistent", PATH: process.env["PATH"] };
const purlinTest = ({ path: cwd }: TempFolder, ...args: string[]): Promise<Outcome> =>
  runInProcess(["test", ...args], { cwd, env });

/** Tests of suites without their hooks, and why each is skipped. */
const skipped: Readonly<Record<string, { readonly suite: string; readonly says: string }>> = {
  "an input that a hook of a test above names": {
    suite: `- name: A
  hooks: {post-test: [{name: Copy, run: 'cp "{{ .Outputs.XR }}" made/xr.yaml'}]}
- name: B
  inputs: {xr: made/xr.yaml}
`,
    says: 'made/xr.yaml does not exist: the post-test hook "Copy" at a_xprin.yaml:4:23 names it, and hooks are not run',
  },
  "an input in a folder that a hook makes": {
    suite: `- name: A
  hooks: {pre-test: [{run: tar -x -f all.tar -C made}]}
- name: B
  inputs: {observed-resources: made/observed}
`,
    says: "made/observed does not exist: the pre-test hook at a_xprin.yaml:4:22 names it, and hooks are not run",
  },
  "an input that a script may make": {
    suite: `- name: A
  hooks: {post-test: [{run: ./generate.sh}]}
- name: B
  inputs: {crds: [crds], context-files: {tier: tier.json}}
`,
    says: "crds does not exist: the post-test hook at a_xprin.yaml:4:23 may create it, and hooks are not run",
  },
  "a definition, functions and a Composition": {
    suite: `- name: A
  hooks: {post-test: [{run: ./generate.sh}]}
- name: B
  patches: {xrd: xrd.yaml}
`,
    says: "xrd.yaml does not exist: the post-test hook at a_xprin.yaml:4:23 may create it, and hooks are not run",
  },
  "a golden file of the test's own hook": {
    suite: `- name: B
  hooks: {pre-test: [{run: "curl -o golden.yaml https://example.org"}]}
  assertions: {diff: [{name: g, expected: golden.yaml}]}
`,
    says: "golden.yaml does not exist: the pre-test hook at a_xprin.yaml:4:22 names it, and hooks are not run",
  },
  "outputs that a hook of the test above changes": {
    suite: `- name: A
  id: a
  hooks: {post-test: [{run: "yq -i .x=1 {{ .Outputs.XR }}"}]}
- name: B
  inputs: {xr: "{{ .Tests.a.Outputs.XR }}"}
`,
    says: "the post-test hook at a_xprin.yaml:5:23 uses {{ .Outputs.XR }}, and hooks are not run",
  },
  "an output of a skipped test": {
    suite: `- name: A
  id: a
  hooks: {pre-test: [{run: "yq -i .x=1 {{ .Inputs.XR }}"}]}
- name: B
  inputs: {xr: "{{ .Tests.a.Outputs.XR }}"}
`,
    says: 'it needs the output of test "a", which is skipped',
  },
};
for (const [name, { suite, says }] of Object.entries(skipped)) {
  test(`a test is skipped without hooks: ${name}`, async () => {
    using folder = projectWith({ "a_xprin.yaml": `${common}tests:\n${suite}` });
    const { exitCode, stdout, stderr } = await purlinTest(folder, "a_xprin.yaml", "-t", "^B$");
    assert.deepEqual([exitCode, stdout.includes(`- B (skipped: ${says})`)], [0, true], `${stdout}${stderr}`);
  });
}

/** Tests whose hooks make nothing that they lack. */
const wrong: Readonly<Record<string, string>> = {
  "no hook": "- name: B\n  inputs: {xr: none.yaml}\n",
  // xprin looks for inputs first.
  "only a hook of its own":
    "- name: B\n  inputs: {xr: none.yaml}\n  hooks: {pre-test: [{run: cp xr.yaml none.yaml}]}\n",
  "a hook that prints": `- name: A
  hooks: {post-test: [{run: 'echo "none.yaml"'}, {run: "exit 1"}, {run: "rm -f none.yaml"}]}
- name: B
  inputs: {xr: none.yaml}
`,
  "a hook of a test below": `- name: B
  inputs: {xr: none.yaml}
- name: C
  hooks: {pre-test: [{run: cp xr.yaml none.yaml}]}
`,
};
for (const [name, suite] of Object.entries(wrong)) {
  test(`a missing input is an error: ${name}`, async () => {
    using folder = projectWith({ "a_xprin.yaml": `${common}tests:\n${suite}` });
    const { exitCode, stderr } = await purlinTest(folder, "a_xprin.yaml", "-t", "^B$");
    assert.equal(exitCode, 2, stderr);
    assert.match(stderr, /error: a_xprin\.yaml:\d+:3: case "B": cannot read none\.yaml: no such file/);
  });
}

test("a hook of a suite makes files for suites after it, and only for those", async () => {
  const golden = `${common.replaceAll(/([a-z]+\.yaml)/g, "../$1")}tests:
- name: Compares
  assertions: {diff: [{name: g, expected: golden.yaml}]}
`;
  const making = `${common}tests:
- name: Generates
  hooks: {post-test: [{run: "cp {{ .Outputs.Render }} goldens/golden.yaml"}]}
`;
  using folder = projectWith({ "generate_xprin.yaml": making, "goldens/compare_xprin.yaml": golden });
  const after = await purlinTest(folder, "generate_xprin.yaml", "goldens");
  assert.equal(after.exitCode, 0, after.stdout);
  assert.match(
    after.stdout,
    /- Compares \(skipped: golden\.yaml does not exist: the post-test hook at generate_xprin\.yaml:4:23 names it, /,
  );
  for (const paths of [["goldens"], ["goldens", "generate_xprin.yaml"]]) {
    const alone = await purlinTest(folder, ...paths);
    assert.deepEqual([alone.exitCode, /g: cannot read the expected file/.test(alone.stdout)], [1, true], alone.stdout);
  }
  // The golden file is a rendering, so the test that compares with it passes once hooks run.
  const allowed = await purlinTest(folder, "generate_xprin.yaml", "goldens", "--allow-hooks");
  assert.deepEqual([allowed.exitCode, allowed.stderr], [0, ""], allowed.stdout);
  assert.match(allowed.stdout, /✓ Generates .*\n.*\n {2}✓ Compares /);
});

const hooked = `${common}tests:
- name: Changes its input
  id: first
  inputs: {context-files: {tier: tier.json}}
  hooks:
    pre-test:
    - run: printf '\\nstatus\\072 {seen\\072 often}\\n' >> "{{ .Inputs.XR }}"
    - run: echo '"gold"' > {{ index .Inputs.ContextFiles "tier" }}
    post-test:
    - run: test {{ .Outputs.RenderCount }} = 2 && grep -q seen.*often {{ index .Outputs.Rendered "ConfigMap/shop-map" }}
    - run: "sed -i s/small/large/ {{ .Outputs.XR }} {{ index .Outputs.Rendered \\"XApp/shop\\" }}"
  assertions:
    xprin:
    - {name: seen, type: FieldValue, resource: ConfigMap, field: data.seen, value: often}
    - {name: tier, type: FieldValue, resource: ConfigMap, field: data.tier, value: gold}
- name: Takes the changed output
  inputs: {xr: "{{ index .Tests.first.Outputs.Rendered \\"XApp/shop\\" }}"}
  hooks: {pre-test: [{run: "grep -q large {{ .Inputs.XR }} {{ .Tests.first.Outputs.XR }}"}]}
  assertions:
    xprin: [{name: size, type: FieldValue, resource: ConfigMap, field: data.size, value: large}]
- name: Fails before
  hooks: {pre-test: [{name: Breaks, run: "echo oh; echo no >&2; exit 3"}], post-test: [{run: touch never}]}
- name: Fails after
  hooks: {post-test: [{run: exit 4}, {run: touch never}]}
- name: Unknown
  hooks: {post-test: [{run: "cat {{ .Outputs.Missing }}"}]}
`;
const hanging = `${common.replaceAll(/([a-z]+\.yaml)/g, "../$1")}tests:
- name: Hangs
  hooks: {pre-test: [{run: "sleep 600 & wait"}]}
`;

test("--allow-hooks runs hooks with copies of the inputs and outputs, and a hook that fails fails its test", async () => {
  using folder = projectWith({ "a_xprin.yaml": hooked, "tier.json": '"none"', "hang/xprin.yaml": hanging });
  const before = readdirSync(tmpdir());
  const { exitCode, stdout, stderr } = await purlinTest(folder, "a_xprin.yaml", "--allow-hooks");
  assert.deepEqual([exitCode, stderr], [1, ""], stdout);
  for (const text of [
    "✓ Changes its input",
    "✓ Takes the changed output",
    'pre-test hook "Breaks" failed with exit code 3: oh',
    "post-test hook failed with exit code 4",
    "post-test hook is not run: {{ .Outputs.Missing }} is not known",
    "3 failed, 2 passed",
  ])
    assert.ok(stdout.includes(text), `${text}\n${stdout}`);
  assert.ok(!existsSync(join(folder.path, "never")), "hooks after one that failed do not run");
  const left = readdirSync(tmpdir()).filter((name) => name.startsWith("purlin-hooks-") && !before.includes(name));
  assert.deepEqual(left, []);
  const hung = await purlinTest(folder, "hang", "--allow-hooks", "--timeout", "1s");
  assert.match(hung.stdout, /pre-test hook did not end within 1s {2}at hang\/xprin\.yaml:4:22/);
  const watching = await purlinTest(folder, ".", "--allow-hooks", "--watch");
  assert.deepEqual([watching.exitCode, /--allow-hooks cannot be used with --watch/.test(watching.stderr)], [2, true]);
});

test("common hooks and assertions apply to tests without their own, each kind by itself", async () => {
  const suite = `common:
  inputs: {xr: xr.yaml, composition: composition.yaml, functions: functions.yaml}
  hooks: {pre-test: [{run: touch common-ran}]}
  assertions:
    xprin: [{name: common count, type: Count, value: 9}]
    diff: [{name: common golden, expected: none.yaml}]
tests:
- name: Own
  hooks: {post-test: [{run: touch own-ran}]}
  assertions: {xprin: [{name: own count, type: Count, value: 2}]}
- name: Secret
  patches: {connection-secret: true, connection-secret-name: shop, connection-secret-namespace: team}
  assertions: {xprin: [{name: ref, type: FieldValue, resource: XApp, field: spec.writeConnectionSecretToRef.namespace, value: team}]}
`;
  using folder = projectWith({ "a_xprin.yaml": suite });
  const { stdout } = await purlinTest(folder, ".", "--allow-hooks");
  assert.ok(existsSync(join(folder.path, "common-ran")) && existsSync(join(folder.path, "own-ran")), stdout);
  assert.match(stdout, /✗ Own .*\n +common golden: cannot read the expected file/);
  assert.doesNotMatch(stdout, /common count|ref:/);
});

const broken: Readonly<Record<string, { readonly suite: string; readonly says: RegExp }>> = {
  "two tests with one id": {
    suite: "- {name: A, id: one}\n- {name: B, id: one}\n",
    says: /a_xprin\.yaml:4:13: id: the file has another test "one"/,
  },
  "an XR and a claim": { suite: "- {name: A, inputs: {claim: xr.yaml}}\n", says: /name either xr or claim/ },
  "a hook without a program": {
    suite: "- name: A\n  hooks: {pre-test: [{name: x}]}\n",
    says: /a_xprin\.yaml:4:22: run: required field is missing/,
  },
  "a name for a connection secret that is not asked for": {
    suite: "- {name: A, patches: {connection-secret-name: x}}\n",
    says: /connection-secret must be true where its name or namespace is set/,
  },
};
for (const [name, { suite, says }] of Object.entries(broken)) {
  test(`a suite of xprin is refused: ${name}`, async () => {
    using folder = projectWith({ "a_xprin.yaml": `${common}tests:\n${suite}` });
    const { exitCode, stderr } = await purlinTest(folder, "a_xprin.yaml");
    assert.equal(exitCode, 2, stderr);
    assert.match(stderr, says);
  });
}

test("a hook of a megabyte of templates that do not end is read in no time", { timeout: 60_000 }, () => {
  assert.equal("{{".repeat(500_000).replaceAll(templatePattern, "").length, 1_000_000);
  const text = '{{ .A }}{{- .B -}}{{ printf "{" }}{{ a';
  assert.deepEqual(
    [...text.matchAll(templatePattern)].map(([, inner]) => inner),
    [" .A ", " .B ", ' printf "{" '],
  );
});
