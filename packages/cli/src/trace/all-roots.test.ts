// SPDX-License-Identifier: Apache-2.0
// What `purlin trace` without arguments begins with: claims and composite resources that nothing composes, and broken packages.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type KubeReader, NoMatchError } from "@purlin/kube-client";
import { forbidden } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject, TypeRef } from "@purlin/kube-objects/object";
import { allRoots } from "./trace-command.ts";

const { signal } = new AbortController();
const condition = (type: string, status: string): JsonObject => ({ type, status, reason: "R" });

interface Definition {
  readonly kind: string;
  readonly group?: string;
  readonly claim?: string;
  readonly conditions?: readonly JsonObject[];
}

function xrd({
  kind,
  group = "example.org",
  claim,
  conditions = [condition("Established", "True"), condition("Offered", "True")],
}: Definition): KubeObject {
  return {
    ...{ apiVersion: "apiextensions.crossplane.io/v2", kind: "CompositeResourceDefinition", metadata: { name: kind } },
    spec: {
      ...{ group, names: { kind } },
      ...(claim !== undefined && { claimNames: { kind: claim } }),
      versions: [{ name: "v1", referenceable: true }],
    },
    status: { conditions: [...conditions] },
  };
}

interface Ref {
  readonly kind: string;
  readonly name: string;
}

const composite = (kind: string, name: string, refs: readonly Ref[] = [], namespace?: string): KubeObject => ({
  ...{ apiVersion: "example.org/v1", kind, metadata: { name, ...(namespace !== undefined && { namespace }) } },
  spec: { crossplane: { resourceRefs: refs.map((ref) => ({ apiVersion: "example.org/v1", ...ref })) } },
});
const pkg = (kind: string, name: string, ...conditions: readonly JsonObject[]): KubeObject => ({
  ...{ apiVersion: "pkg.crossplane.io/v1", kind, metadata: { name }, status: { conditions: [...conditions] } },
});

/** The roots of a server with these definitions and objects, and the kinds that were listed. */
async function rootsOf(
  definitions: readonly KubeObject[],
  objects: readonly KubeObject[],
): Promise<{ readonly roots: string[]; readonly objects: readonly KubeObject[]; readonly listed: string[] }> {
  const listed: string[] = [];
  const list = async ({ apiVersion, kind }: TypeRef): Promise<object> => {
    listed.push(kind);
    return { items: [...definitions, ...objects].filter((one) => one.kind === kind && one.apiVersion === apiVersion) };
  };
  const roots = await allRoots({ list } as Partial<KubeReader> as KubeReader, signal);
  return {
    roots: roots.map(({ kind, metadata: { namespace, name } }) => `${kind} ${namespace ? `${namespace}/` : ""}${name}`),
    ...{ listed, objects: roots },
  };
}

describe("the roots of a control plane", () => {
  test("are composite resources that no other one composes, by kind and name", async () => {
    const { roots } = await rootsOf(
      [xrd({ kind: "App" }), xrd({ kind: "Box" })],
      [
        composite("Box", "inner"),
        composite("Box", "alone"),
        composite("App", "shop", [
          { kind: "Box", name: "inner" },
          { kind: "ConfigMap", name: "c" },
        ]),
        composite("App", "cart"),
      ],
    );
    assert.deepEqual(roots, ["App cart", "App shop", "Box alone"]);
  });

  test("a name in another namespace is another object", async () => {
    const { roots } = await rootsOf(
      [xrd({ kind: "App" }), xrd({ kind: "Box" })],
      [
        composite("Box", "b", [], "dev"),
        composite("Box", "b", [], "prod"),
        composite("App", "a", [{ kind: "Box", name: "b" }], "dev"),
      ],
    );
    assert.deepEqual(roots, ["App dev/a", "Box prod/b"]);
  });

  test("a kind of another group is another kind, and another version of a kind is the same one", async () => {
    const definitions = [xrd({ kind: "App" }), xrd({ kind: "Box" }), xrd({ kind: "Box", group: "other.org" })];
    const other = { ...composite("Box", "b"), apiVersion: "other.org/v1" };
    const parent = (apiVersion: string): KubeObject => ({
      ...composite("App", "a"),
      spec: { crossplane: { resourceRefs: [{ apiVersion, kind: "Box", name: "b" }] } },
    });
    const roots = async (apiVersion: string): Promise<readonly string[]> =>
      (await rootsOf(definitions, [composite("Box", "b"), other, parent(apiVersion)])).objects.map(
        ({ apiVersion: version, kind, metadata }) => `${version} ${kind} ${metadata.name ?? ""}`,
      );
    const app = "example.org/v1 App a";
    assert.deepEqual(await roots("example.org/v1"), [app, "other.org/v1 Box b"]);
    assert.deepEqual(await roots("other.org/v1"), [app, "example.org/v1 Box b"]);
    assert.deepEqual(await roots("example.org/v1alpha1"), [app, "other.org/v1 Box b"]);
  });

  test("kinds of definitions that are not offered are not listed, claims are where there are some", async () => {
    const { listed } = await rootsOf(
      [
        xrd({ kind: "App", claim: "AppClaim" }),
        xrd({ kind: "Later", conditions: [] }),
        xrd({ kind: "Half", claim: "HalfClaim", conditions: [condition("Established", "True")] }),
      ],
      [],
    );
    assert.deepEqual(
      listed.filter((kind) => /App|Later|Half/.test(kind)),
      ["AppClaim", "App"],
    );
    for (const kind of ["Configuration", "Provider", "Function"]) assert.ok(listed.includes(kind), kind);
  });

  test("packages that are not healthy come last", async () => {
    const healthy = [condition("Installed", "True"), condition("Healthy", "True")];
    const { roots } = await rootsOf(
      [xrd({ kind: "App" })],
      [
        pkg("Provider", "broken", condition("Installed", "True"), condition("Healthy", "False")),
        pkg("Provider", "fine", ...healthy),
        pkg("Function", "new"),
        composite("App", "z"),
      ],
    );
    assert.deepEqual(roots, ["App z", "Function new", "Provider broken"]);
  });

  test("an empty control plane has no roots", async () => {
    assert.deepEqual((await rootsOf([], [])).roots, []);
  });
});

describe("a server", () => {
  const failing = (error: Error) =>
    allRoots({ list: () => Promise.reject(error) } as Partial<KubeReader> as KubeReader, signal);

  test("without the kinds of a control plane says what to start", async () => {
    const type = { apiVersion: "apiextensions.crossplane.io/v2", kind: "CompositeResourceDefinition" };
    await assert.rejects(failing(new NoMatchError(type)), {
      name: "UserError",
      message:
        'the API server runs no control plane: no matches for kind "CompositeResourceDefinition" in version "apiextensions.crossplane.io/v2": start one with purlin up or purlin start',
    });
  });

  test("that refuses to list says why", async () => {
    const denied = forbidden({ group: "", resource: "xrds" }, "", "no");
    await assert.rejects(failing(denied), (error) => error === denied);
  });
});
