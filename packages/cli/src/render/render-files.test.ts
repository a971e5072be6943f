// SPDX-License-Identifier: Apache-2.0
// The files of a render: which objects of them count, and what is missing, doubled or of another kind.
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { TestIo } from "../../test/test-io.ts";
import type { CommandInput } from "../options/command-spec.ts";
import {
  only,
  type RenderCommand,
  readContext,
  readInputs,
  readRenderCommand,
  readRenderFiles,
} from "./render-files.ts";

const xr = (kind: string, name = "shop"): string =>
  `apiVersion: example.org/v1\nkind: ${kind}\nmetadata: {name: ${name}}\n`;
const composition = (kind: string, name = kind.toLowerCase()): string => `apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: ${name}}
spec: {compositeTypeRef: {apiVersion: example.org/v1, kind: ${kind}}}
`;
const xrd = (kind: string, claim = "", group = "example.org"): string => `apiVersion: apiextensions.crossplane.io/v1
kind: CompositeResourceDefinition
metadata: {name: ${kind.toLowerCase()}s.${group}}
spec: {group: ${group}, names: {kind: ${kind}}${claim === "" ? "" : `, claimNames: {kind: ${claim}}`}}
`;
const fn = (name: string, kind = "Function"): string =>
  `apiVersion: pkg.crossplane.io/v1\nkind: ${kind}\nmetadata: {name: ${name}}\n`;
const documents = (...all: readonly string[]): string => all.join("---\n");

interface Files {
  readonly xr?: string;
  readonly composition?: string;
  readonly functions?: string;
  readonly xrd?: string;
  readonly more?: Readonly<Record<string, string>>;
  readonly command?: Partial<RenderCommand>;
}

const input = (options: CommandInput["options"] = {}, args: readonly string[] = []): CommandInput => ({
  args,
  options,
});
const base = readRenderCommand(input({ timeout: "1m" }, ["xr.yaml", "composition.yaml", "functions.yaml"]));

async function read({ command, more, ...given }: Files = {}) {
  const { xr: own = xr("App"), composition: comp = composition("App"), functions = fn("f"), xrd: definition } = given;
  const files = { "xr.yaml": own, "composition.yaml": comp, "functions.yaml": functions, ...more };
  using folder = tempFolder({ ...files, ...(definition !== undefined && { "xrd.yaml": definition }) });
  const xrdFile = definition === undefined ? {} : { xrd: "xrd.yaml" };
  return await readRenderFiles({ ...base, ...xrdFile, ...command }, new TestIo({ cwd: folder.path }));
}

/** What was chosen: kind and name of each. */
async function chosen(files: Files): Promise<string[]> {
  const { xr: one, composition: comp, definition } = await read(files);
  return [one, comp, definition].map((each) => (each ? `${each.object.kind} ${each.object.metadata.name}` : "none"));
}

describe("the composite resource", () => {
  test("is the only object that is not one of Crossplane, whatever its kind", async () => {
    assert.deepEqual(await chosen({}), ["App shop", "Composition app", "none"]);
    assert.deepEqual(await chosen({ xr: xr("Other") }), ["Other shop", "Composition app", "none"]);
    assert.deepEqual(await chosen({ xr: documents(xrd("App"), xr("App")) }), [
      "App shop",
      "Composition app",
      "CompositeResourceDefinition apps.example.org",
    ]);
  });

  test("of several objects is the one of the Composition's kind", async () => {
    const several = documents(xr("Pod", "p"), xr("App"), xr("Box", "b"));
    assert.deepEqual((await chosen({ xr: several }))[0], "App shop");
  });

  test("may be a claim of the definition", async () => {
    const several = documents(xr("Pod", "p"), xr("AppClaim", "mine"));
    assert.deepEqual(await chosen({ xr: several, xrd: xrd("App", "AppClaim") }), [
      "AppClaim mine",
      "Composition app",
      "CompositeResourceDefinition apps.example.org",
    ]);
  });

  test("that is missing or doubled is an error with its place", async () => {
    await assert.rejects(read({ xr: xrd("App") }), { message: "xr.yaml: no composite resource found: check the path" });
    await assert.rejects(read({ xr: documents(xr("Pod"), xr("Box")) }), {
      message: "xr.yaml: no App found: check the path",
    });
    await assert.rejects(read({ xr: documents(xr("App", "a"), xr("App", "b")) }), {
      message: "xr.yaml:6:1: found a second App; the first is at xr.yaml:2:1: specify a file with only one",
    });
  });
});

describe("the Composition", () => {
  test("of several is the one for the kind that is rendered, also through its claim", async () => {
    const both = documents(composition("Box"), composition("App"));
    assert.equal((await chosen({ composition: both }))[1], "Composition app");
    assert.equal(
      (await chosen({ composition: both, xr: xr("BoxClaim"), xrd: xrd("Box", "BoxClaim") }))[1],
      "Composition box",
    );
  });

  test("for another kind is taken where it is the only one", async () => {
    assert.equal((await chosen({ composition: composition("Box") }))[1], "Composition box");
  });

  test("that is missing, doubled or of another group is an error", async () => {
    await assert.rejects(read({ composition: xrd("App") }), {
      message: "composition.yaml: no Composition found: check the path",
    });
    await assert.rejects(read({ composition: composition("App").replace("apiextensions.crossplane.io", "e.org") }), {
      message: "composition.yaml: no Composition found: check the path",
    });
    await assert.rejects(read({ composition: documents(composition("App", "a"), composition("App", "b")) }), {
      message:
        "composition.yaml:7:1: found a second Composition; the first is at composition.yaml:2:1: specify a file with only one",
    });
  });
});

describe("the definition", () => {
  test("is found in any of the files, by group and kind", async () => {
    const found = "CompositeResourceDefinition apps.example.org";
    for (const files of [
      { xrd: xrd("App") },
      { composition: documents(composition("App"), xrd("App")) },
      { functions: documents(fn("f"), xrd("App")) },
    ]) {
      assert.equal((await chosen(files))[2], found);
    }
    assert.equal((await chosen({ functions: documents(fn("f"), xrd("App", "", "other.org")) }))[2], "none");
  });

  test("that is named must be that of the Composition", async () => {
    await assert.rejects(read({ xrd: xrd("Box") }), {
      message: "xrd.yaml: it does not define App of example.org/v1, which the Composition is for",
    });
  });
});

describe("other files", () => {
  test("functions are Functions and FunctionRevisions; everything else in the file is ignored", async () => {
    const functions = documents(fn("a"), fn("b"), fn("b-1", "FunctionRevision"), fn("p", "Provider"));
    const found = await read({ functions });
    assert.deepEqual(
      [found.functions, found.revisions].map((list) => list.map(({ object }) => object.metadata.name)),
      [["a", "b"], ["b-1"]],
    );
  });

  test("observed resources may have no names; what a render prints about itself is left out", async () => {
    const result = "apiVersion: render.crossplane.io/v1beta1\nkind: Result\nmessage: hi\n";
    const nameless = "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a-}\n";
    const { observed, required, credentials } = await read({
      more: {
        "observed.yaml": documents(nameless, result),
        "required/a.yaml": xr("Pod", "p"),
        "secret.yaml": xr("Key", "k"),
      },
      command: { observed: ["observed.yaml"], required: ["required"], credentials: ["secret.yaml"] },
    });
    assert.deepEqual(
      [observed, required, credentials].map((list) => list.map(({ object }) => object.kind)),
      [["ConfigMap"], ["Pod"], ["Key"]],
    );
    using folder = tempFolder({ "required.yaml": nameless });
    await assert.rejects(readInputs(["required.yaml"], new TestIo({ cwd: folder.path })), /required\.yaml:/);
    assert.deepEqual(await readInputs([], new TestIo({ cwd: folder.path })), []);
  });

  test("the source of a function is seen from its file", async () => {
    using folder = tempFolder({
      "platform/functions.yaml": `${fn("f").trimEnd()}\n`.replace(
        "{name: f}",
        "{name: f, annotations: {purlin.dev/source: fn.ts}}",
      ),
    });
    const [one] = await readInputs(["platform/functions.yaml"], new TestIo({ cwd: folder.path }));
    assert.deepEqual(one?.object.metadata.annotations, { "purlin.dev/source": join(folder.path, "platform/fn.ts") });
  });
});

test("only: one of a list, or an error that names what is wanted", () => {
  const manifest = (line: number) => ({ object: {} as never, file: "f", at: () => `f:${line}:1` });
  const one = manifest(1);
  assert.equal(only([one], "path", "Thing"), one);
  assert.throws(() => only([], "path", "Thing"), { message: "path: no Thing found: check the path" });
  assert.throws(() => only([one, manifest(5), manifest(9)], "path", "Thing"), {
    message: "f:5:1: found a second Thing; the first is at f:1:1: specify a file with only one",
  });
});

describe("the command line", () => {
  test("is read with both names of required resources, and annotations by key", () => {
    const command = readRenderCommand(
      input(
        {
          ...{ timeout: "30s", includeFullXr: true, includeContext: true, xrd: "xrd.yaml" },
          ...{ requiredResources: ["a"], extraResources: ["b"], observedResources: ["o"], requiredSchemas: ["s"] },
          ...{ functionCredentials: ["c"], functionAnnotations: ["k=v", "url=a=b"] },
        },
        ["x", "c", "f"],
      ),
    );
    assert.deepEqual(command, {
      ...{ xr: "x", composition: "c", functions: "f", fullXr: true, showResults: false, showContext: true },
      ...{ observed: ["o"], required: ["a", "b"], schemas: ["s"], credentials: ["c"], xrd: "xrd.yaml" },
      ...{ annotations: { k: "v", url: "a=b" }, timeoutMs: 30_000 },
    });
    assert.throws(() => readRenderCommand(input({ timeout: "1s", functionAnnotations: ["x"] })), {
      exitCode: 2,
      message: '-a: expected key=value, not "x"',
    });
  });

  test("context is YAML of files and of values, the later one of a key", async () => {
    using folder = tempFolder({ "a.json": '{"n": [1, true]}', "two.yaml": "a: 1\n---\nb: 2\n", "empty.yaml": "" });
    const io = new TestIo({ cwd: folder.path });
    const context = await readContext(
      input({
        contextFiles: ["file=a.json", "both=a.json", "none=empty.yaml"],
        contextValues: ["both=5", "text=hi", "e=a=b"],
      }),
      io,
    );
    assert.deepEqual(context, { file: { n: [1, true] }, both: 5, none: null, text: "hi", e: "a=b" });
    const refused: readonly (readonly [options: CommandInput["options"], message: RegExp])[] = [
      [{ contextFiles: ["k=two.yaml"] }, /^two\.yaml:3:1: a second document starts here: expected one value$/],
      [{ contextFiles: ["a.json"] }, /^--context-files: expected key=value, not "a\.json"$/],
      [{ contextValues: ["=5"] }, /^--context-values: expected key=value, not "=5"$/],
      [{ contextValues: ["k=["] }, /^--context-values k:1:2: invalid YAML/],
    ];
    for (const [options, message] of refused) await assert.rejects(readContext(input(options), io), { message });
  });
});
