// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { RunFunctionRequest, toJson } from "@purlin/function-protocol";
import { TestIo } from "../../test/test-io.ts";
import { type RequestFiles, readRequest } from "./call-command.ts";

const xr = "apiVersion: example.org/v1\nkind: XApp\nmetadata: {name: a}\n";

async function read(
  files: Record<string, string>,
  options: Partial<RequestFiles> & { stdin?: string },
): Promise<unknown> {
  using folder = tempFolder(files);
  const io = new TestIo({ cwd: folder.path, ...(options.stdin === undefined ? {} : { stdin: options.stdin }) });
  return toJson(RunFunctionRequest, await readRequest({ request: undefined, xr: undefined, ...options }, io));
}

test("a request says what its file says, in YAML or JSON, with .proto names too", async () => {
  const expected = {
    observed: { composite: { resource: { kind: "XApp" } } },
    desired: {},
    context: { a: 1 },
    requiredResources: { x: {} },
  };
  const yaml = "observed: {composite: {resource: {kind: XApp}}}\nrequired_resources: {x: {}}\ncontext: {a: 1}\n";
  assert.deepEqual(await read({ "r.yaml": yaml }, { request: "r.yaml" }), expected);
  const json = JSON.stringify(expected);
  assert.deepEqual(await read({ "r.json": json }, { request: "r.json" }), expected);
  assert.deepEqual(await read({}, { request: "-", stdin: json }), expected);
});

test("the first step of a pipeline gets empty desired state and context, not none", async () => {
  assert.deepEqual(await read({ "r.yaml": "meta: {tag: t}\n" }, { request: "r.yaml" }), {
    meta: { tag: "t" },
    desired: {},
    context: {},
  });
});

test("a composite resource alone is enough, and replaces the one of the request", async () => {
  const composite = { apiVersion: "example.org/v1", kind: "XApp", metadata: { name: "a" } };
  assert.deepEqual(await read({ "xr.yaml": xr }, { xr: "xr.yaml" }), {
    observed: { composite: { resource: composite } },
    desired: {},
    context: {},
  });
  const request = "observed: {composite: {resource: {kind: Old}, connectionDetails: {a: YQ==}}, resources: {b: {}}}\n";
  assert.deepEqual(await read({ "xr.yaml": xr, "r.yaml": request }, { xr: "xr.yaml", request: "r.yaml" }), {
    observed: { composite: { resource: composite, connectionDetails: { a: "YQ==" } }, resources: { b: {} } },
    desired: {},
    context: {},
  });
});

const bad: Record<
  string,
  { readonly files: Record<string, string>; readonly use: Partial<RequestFiles>; readonly says: string }
> = {
  Nothing: { files: {}, use: {}, says: "no request given: use --request FILE or --xr FILE" },
  MissingFile: {
    files: {},
    use: { request: "nope.yaml" },
    says: "cannot read the request nope.yaml: no such file: check the path",
  },
  Folder: {
    files: { "dir/a.yaml": "" },
    use: { request: "dir" },
    says: "cannot read the request dir: it is a folder: specify a file in it",
  },
  BelowAFile: {
    files: { "r.yaml": "" },
    use: { request: "r.yaml/x.yaml" },
    says: "cannot read the request r.yaml/x.yaml: a part of the path is a file, not a folder: check the path",
  },
  Empty: {
    files: { "r.yaml": "# nothing\n" },
    use: { request: "r.yaml" },
    says: "r.yaml: the request is empty: expected a RunFunctionRequest, such as {observed: {composite: {resource: {…}}}}",
  },
  TwoDocuments: {
    files: { "r.yaml": "meta: {}\n---\nmeta: {}\n" },
    use: { request: "r.yaml" },
    says: "r.yaml:3:1: a second document starts here: expected one request",
  },
  BrokenYaml: {
    files: { "r.yaml": "meta:\n  tag: a\n   x: b\n" },
    use: { request: "r.yaml" },
    says: "r.yaml:3:5: invalid YAML: bad indentation of a mapping entry: check this line and the one before it",
  },
  BrokenJson: {
    files: { "r.json": '{"meta": {"tag": "a",, }}' },
    use: { request: "r.json" },
    says: "r.json:1:22: invalid JSON: expected the node content, but found ',': check this line and the one before it",
  },
  AList: {
    files: { "r.yaml": "- 1\n" },
    use: { request: "r.yaml" },
    says: "r.yaml:1:1: expected a RunFunctionRequest, such as {observed: {composite: {resource: {…}}}}",
  },
  WrongKind: {
    files: { "r.yaml": `# my app\n${xr}` },
    use: { request: "r.yaml" },
    says: "r.yaml:3:1: this is a Kubernetes object (example.org/v1 XApp), not a RunFunctionRequest: pass a composite resource with --xr",
  },
  UnknownField: {
    files: { "r.yaml": "observed:\n  composit:\n    resource: {}\n" },
    use: { request: "r.yaml" },
    says: 'r.yaml:2:3: observed.composit: State has no field "composit"; it has composite, resources',
  },
  WrongType: {
    files: { "r.yaml": "meta:\n  tag: 3\n" },
    use: { request: "r.yaml" },
    says: "r.yaml:2:3: meta.tag: expected a string, not 3",
  },
  WrongTypeInAList: {
    files: { "r.yaml": "requiredResources:\n  a.b:\n    items:\n    - resource: {}\n    - resource: text\n" },
    use: { request: "r.yaml" },
    says: 'r.yaml:5:7: requiredResources["a.b"].items[1].resource: expected an object, not "text"',
  },
  UnknownCapability: {
    files: { "r.yaml": "meta:\n  capabilities:\n  - CAPABILITY_CONDITIONS\n  - CAPABILITY_TELEPATHY\n" },
    use: { request: "r.yaml" },
    says: 'r.yaml:4:5: meta.capabilities[1]: expected one of CAPABILITY_UNSPECIFIED, CAPABILITY_CAPABILITIES, CAPABILITY_REQUIRED_RESOURCES, CAPABILITY_CREDENTIALS, CAPABILITY_CONDITIONS, CAPABILITY_REQUIRED_SCHEMAS, not "CAPABILITY_TELEPATHY"',
  },
  BadBase64: {
    files: { "r.yaml": 'credentials:\n  db:\n    credentialData:\n      data: {password: "%"}\n' },
    use: { request: "r.yaml" },
    says: 'r.yaml:4:14: credentials.db.credentialData.data.password: expected base64, not "%"',
  },
  NotANumber: {
    files: { "r.yaml": "input:\n  a:\n  - b: .nan\n" },
    use: { request: "r.yaml" },
    says: "r.yaml:3:5: input: a[0].b: NaN has no JSON form",
  },
  XrWithoutKind: {
    files: { "xr.yaml": "apiVersion: v1\nspec: {}\n" },
    use: { xr: "xr.yaml" },
    says: "xr.yaml:1:1: kind: required field is missing: add a string",
  },
  XrIsAList: {
    files: { "xr.yaml": "[]\n" },
    use: { xr: "xr.yaml" },
    says: "xr.yaml:1:1: expected a composite resource with apiVersion and kind",
  },
};
for (const [name, { files, use, says }] of Object.entries(bad)) {
  test(`bad requests: ${name}`, async () => {
    await assert.rejects(read(files, use), { name: "UserError", message: says });
  });
}
