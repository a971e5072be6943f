// SPDX-License-Identifier: Apache-2.0
// Templates and hooks of suites of xprin.
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { TestIo } from "../../test/test-io.ts";
import type { TestCase } from "./test-file.ts";
import { readXprinFile } from "./xprin-file.ts";
import type { Hook } from "./xprin-hooks.ts";

interface Read {
  readonly cases: readonly TestCase[];
  readonly stderr: string;
  readonly hooks: readonly Hook[];
  readonly folder: string;
}

interface Given {
  readonly allowHooks?: boolean;
  /** Files beside the suite. */
  readonly files?: Readonly<Record<string, string>>;
  /** Hooks of suites before. */
  readonly earlier?: readonly Hook[];
}

async function read(suite: string, { allowHooks = false, files = {}, earlier = [] }: Given = {}): Promise<Read> {
  using folder = tempFolder({ "suite_xprin.yaml": suite, ...files });
  const io = new TestIo({ cwd: folder.path, env: { HOME: join(folder.path, "home") } });
  const hooks = [...earlier];
  const cases = await readXprinFile("suite_xprin.yaml", io, { hooks, allowHooks });
  return { cases, stderr: io.stderr.text, hooks, folder: folder.path };
}

const reasons = async (suite: string, given?: Given): Promise<(string | undefined)[]> =>
  (await read(suite, given)).cases.map(({ skip }) => skip);

describe("templates", () => {
  const outputs = (template: string): string =>
    `tests:\n- {name: a, id: a}\n- name: b\n  inputs: {xr: ${template}, observed-resources: o.yaml}\n`;

  test("of outputs of tests above are known, quoted or not", async () => {
    const rows: readonly (readonly [template: string, what: unknown])[] = [
      ["{{ .Tests.a.Outputs.XR }}", "xr"],
      ["'{{.Tests.a.Outputs.XR}}'", "xr"],
      ["{{- .Tests.a.Outputs.XR -}}", "xr"],
      ["{{ .Tests.a.Outputs.Render }}", "all"],
      ["'{{ index .Tests.a.Outputs.Rendered \"Deployment/web\" }}'", { resource: "Deployment/web" }],
      ['"{{ index .Tests.a.Outputs.Rendered \\"Deployment/web\\" }}"', { resource: "Deployment/web" }],
    ];
    for (const [template, what] of rows) {
      const { cases } = await read(outputs(template));
      const [, second] = cases;
      assert.equal(second?.skip, undefined, template);
      assert.deepEqual(second?.xprin?.outputOf(String(second.inputs["xr"])), { test: "a", what }, template);
      assert.equal(second?.xprin?.outputOf("o.yaml"), undefined);
    }
  });

  test("of anything else skip the test, with the template", async () => {
    const unknown = ": only outputs of tests above and repositories are known";
    const rows: Readonly<Record<string, string>> = {
      "{{ .Env.HOME }}": `{{ .Env.HOME }}${unknown}`,
      "dir/{{ .Tests.a.Outputs.XR }}": `dir/{{ .Tests.a.Outputs.XR }}${unknown}`,
      "{{ .Tests.a.Outputs.Nonsense }}": `{{ .Tests.a.Outputs.Nonsense }}${unknown}`,
      "{{ .Tests.a.Outputs.Rendered }}": `{{ .Tests.a.Outputs.Rendered }}${unknown}`,
      "'{{ .Tests.a.Outputs.XR \"x\" }}'": `{{ .Tests.a.Outputs.XR "x" }}${unknown}`,
    };
    for (const [template, reason] of Object.entries(rows)) {
      const { cases } = await read(outputs(template));
      assert.deepEqual([cases[1]?.skip, cases[1]?.inputs], [reason, {}], template);
    }
  });

  test("an output of a test that is skipped skips the test", async () => {
    const suite = `tests:
- {name: a, id: a, inputs: {xr: "{{ .Env.X }}"}}
- {name: b, id: b, inputs: {xr: "{{ .Tests.a.Outputs.XR }}"}}
- {name: c, inputs: {xr: "{{ .Tests.b.Outputs.XR }}"}}
- {name: d, inputs: {xr: xr.yaml}}
`;
    const [, second, third, fourth] = await reasons(suite);
    assert.equal(second, 'it needs the output of test "a", which is skipped');
    assert.equal(third, 'it needs the output of test "b", which is skipped');
    assert.equal(fourth, undefined);
  });

  test("of repositories are the paths of the configuration, also in the home folder", async () => {
    const config = "repositories:\n  platform: /repos/platform\n  own: ~/own\n";
    const suite = `tests:
- name: a
  inputs:
    xr: "{{ .Repositories.platform }}/xr.yaml"
    composition: "{{ .Repositories.own }}/c.yaml"
    crds: ["~/crds", "{{ .Repositories.platform }}/crds"]
  assertions: {diff: [{expected: "{{ .Repositories.platform }}/golden.yaml"}]}
`;
    const { cases, folder } = await read(suite, { files: { "home/.config/xprin.yaml": config } });
    const [one] = cases;
    assert.deepEqual(one?.inputs, {
      xr: "/repos/platform/xr.yaml",
      composition: join(folder, "home/own/c.yaml"),
      schemas: [join(folder, "home/crds"), "/repos/platform/crds"],
      context: {},
    });
    assert.deepEqual(one?.expect, { xprin: [{ type: "Golden", expected: "/repos/platform/golden.yaml" }] });
  });

  test("of repositories that the configuration lacks skip the test", async () => {
    const suite = 'tests:\n- {name: a, inputs: {xr: "{{ .Repositories.gone }}/xr.yaml"}}\n';
    const reason =
      "{{ .Repositories.gone }}/xr.yaml: ~/.config/xprin.yaml has no path for it: add it to repositories there";
    assert.deepEqual(await reasons(suite), [reason]);
    const files = { "home/.config/xprin.yaml": "repositories: {other: /x}\n" };
    assert.deepEqual(await reasons(suite, { files }), [reason]);
    for (const config of ["repositories: [a]\n", "repositories: {a: 1}\n"]) {
      await assert.rejects(read(suite, { files: { "home/.config/xprin.yaml": config } }), {
        exitCode: 2,
        message: "~/.config/xprin.yaml: repositories: expected a map of names to paths",
      });
    }
    assert.deepEqual(await reasons(suite, { files: { "home/.config/xprin.yaml": "" } }), [reason]);
  });
});

describe("hooks", () => {
  const suite = `common:
  hooks: {pre-test: [{name: common, run: echo common}]}
tests:
- name: a
- name: b
  hooks:
    pre-test: [{run: "echo {{ .Repositories.r }} {{ .Inputs.XR }}"}]
    post-test: [{name: after, run: echo after}]
`;
  const files = { "home/.config/xprin.yaml": "repositories: {r: /repo}\n" };

  test("are not run unless they are allowed, and a note says so", async () => {
    const { cases, stderr, hooks } = await read(suite, { files });
    assert.equal(stderr, "note: suite_xprin.yaml: hooks are not run: a, b\n");
    assert.deepEqual(
      cases.map(({ xprin }) => xprin?.hooks),
      [undefined, undefined],
    );
    assert.equal(hooks.length, 3);
  });

  test("that are allowed are those of the test, or the common ones", async () => {
    const { cases, stderr, folder } = await read(suite, { files, allowHooks: true });
    assert.equal(stderr, "");
    assert.deepEqual(
      cases.map(({ xprin }) => xprin?.hooks?.map(({ when, name, run, at }) => [when, name, run, at])),
      [
        [["pre-test", "common", "echo common", "suite_xprin.yaml:2:22"]],
        [
          ["pre-test", undefined, "echo /repo {{ .Inputs.XR }}", "suite_xprin.yaml:7:16"],
          ["post-test", "after", "echo after", "suite_xprin.yaml:8:17"],
        ],
      ],
    );
    const [hook] = cases[0]?.xprin?.hooks ?? [];
    assert.deepEqual([hook?.suite, hook?.folder], ["suite_xprin.yaml", folder]);
  });

  test("a suite without hooks prints nothing", async () => {
    assert.equal((await read("tests: [{name: a}]\n")).stderr, "");
  });

  test("a hook that changes an input of its test skips it while hooks are not run", async () => {
    const changing = 'tests:\n- name: a\n  hooks: {pre-test: [{name: h, run: "sed -i s/a/b/ {{ .Inputs.XR }}"}]}\n';
    assert.deepEqual(await reasons(changing), [
      'the pre-test hook "h" at suite_xprin.yaml:3:22 uses {{ .Inputs.XR }}, and hooks are not run',
    ]);
    assert.deepEqual(await reasons(changing, { allowHooks: true }), [undefined]);
  });
});
