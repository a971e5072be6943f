// SPDX-License-Identifier: Apache-2.0
// Manual composite resources with a revision selector: every row of the decision, on a composite resource and through a
// claim, with the YAML of the rollout design.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { type RunFunctionRequest, type RunFunctionResponse, request, response } from "@purlin/function-sdk";
import type { KubeObject } from "@purlin/kube-objects/object";
import { load } from "js-yaml";
import { bucketYaml } from "../../packages/composition/test/definitions.ts";
import { conditionOf, eventually, type Plane, startPlane } from "./harness/plane.ts";
import { rendersAsApplied } from "./harness/rendered.ts";
import { definitionOf, namespaceOf } from "./harness/sample-kinds.ts";
import { stays } from "./harness/stays.ts";

const bucketType = { apiVersion: "custom-api.example.org/v1alpha1", kind: "AcmeBucket" };
const claimType = { apiVersion: "custom-api.example.org/v1alpha1", kind: "Bucket" };
const compositionType = { apiVersion: "apiextensions.crossplane.io/v1", kind: "Composition" };
const revisionType = { apiVersion: "apiextensions.crossplane.io/v1", kind: "CompositionRevision" };
const namespace = "shop";

const definition = definitionOf({
  group: "custom-api.example.org",
  kind: "AcmeBucket",
  claimKind: "Bucket",
  scope: "Legacy",
  version: "v1alpha1",
  spec: { size: { type: "integer" } },
  status: { channel: { type: "string" } },
  more: { defaultCompositionRef: { name: "example" } },
});

/** A Composition whose step says which channel it is of. */
function composition(channel: string, note: string): KubeObject {
  const input = { apiVersion: "example.org/v1", kind: "Channel", channel, note };
  return {
    ...compositionType,
    metadata: { name: "example", labels: { "release-channel": channel } },
    spec: {
      compositeTypeRef: bucketType,
      mode: "Pipeline",
      pipeline: [{ step: "patch-and-transform", functionRef: { name: "function-patch-and-transform" }, input }],
    },
  };
}

function reportChannel(req: RunFunctionRequest): RunFunctionResponse {
  const rsp = response.to(req);
  const { channel } = request.getInput(req) as { readonly channel: string };
  response.setDesiredCompositeStatus(rsp, { channel });
  return rsp;
}

const specOf = (object: KubeObject): Readonly<Record<string, unknown>> => object["spec"] as Record<string, unknown>;
const revisionOf = (object: KubeObject): string =>
  (specOf(object)["compositionRevisionRef"] as { readonly name?: string } | undefined)?.name ?? "";
const select = (channel: string) => ({ compositionRevisionSelector: { matchLabels: { "release-channel": channel } } });

let plane: Plane;
/** Names of the revisions, in the order in which they were made. */
const made: string[] = [];

/** Makes a revision of the Composition and waits until it can be used. */
async function release(channel: string): Promise<string> {
  await plane.apply(composition(channel, `release ${made.length + 1}`));
  const name = await eventually(`revision ${made.length + 1}`, async () => {
    const { items } = await plane.users.list(revisionType);
    return items.find(({ metadata }) => !made.includes(metadata.name ?? ""))?.metadata.name;
  });
  await plane.until(
    "its pipeline is valid",
    revisionType,
    { name },
    (one) => conditionOf(one, "ValidPipeline")?.status === "True",
  );
  made.push(name);
  return name;
}

before(async () => {
  plane = await startPlane({ functions: { "function-patch-and-transform": reportChannel } });
  await plane.apply(namespaceOf(namespace), definition);
  for (const channel of ["stable", "alpha", "alpha", "stable"]) await release(channel);
});
after(() => plane[Symbol.asyncDispose]());

const at = (name: string) => (object: KubeObject) =>
  revisionOf(object) === name && conditionOf(object, "Ready")?.status === "True";

/** A composite resource, or a claim, which is reached in the same way. */
interface Kind {
  readonly title: string;
  readonly type: typeof bucketType;
  readonly key: (name: string) => { readonly name: string; readonly namespace?: string };
}

const kinds: readonly Kind[] = [
  { title: "a composite resource", type: bucketType, key: (name) => ({ name }) },
  { title: "a claim", type: claimType, key: (name) => ({ namespace, name }) },
];

for (const { title, type, key } of kinds) {
  const prefix = title.endsWith("claim") ? "c" : "x";
  const make = async (name: string, spec: object): Promise<void> => {
    await plane.users.create({ ...type, metadata: key(`${prefix}-${name}`), spec } as KubeObject);
  };
  // A claim that names no revision under Manual does not show it: read the composite resource.
  const reaches = (name: string, revision: string): Promise<KubeObject> =>
    eventually(`${prefix}-${name} is at ${revision}`, async () => {
      const { items } = await plane.users.list(bucketType);
      return items.find((one) => isOf(one, `${prefix}-${name}`) && at(revision)(one));
    });
  const edit = async (name: string, spec: object): Promise<void> => {
    await plane.users.patch({ ...type, ...key(`${prefix}-${name}`) }, { spec: spec as never }, { type: "merge" });
  };

  const staysAt = async (name: string, revision: string): Promise<void> => {
    const read = async (): Promise<string | undefined> => {
      const { items } = await plane.users.list(bucketType);
      const found = items.find((one) => isOf(one, `${prefix}-${name}`));
      return found && revisionOf(found);
    };
    await stays(`the revision of ${prefix}-${name}`, read, revision);
  };

  suite(title, () => {
    test("Automatic: the newest that carries the labels", async () => {
      await make("auto", { compositionUpdatePolicy: "Automatic", ...select("alpha") });
      await reaches("auto", made[2] ?? "");
    });

    test("Manual without selector: the newest of all, then it stays", async () => {
      await make("plain", { compositionUpdatePolicy: "Manual" });
      await reaches("plain", made[3] ?? "");
      await staysAt("plain", made[3] ?? "");
    });

    test("Manual with a selector and no revision: the newest match; the selector edited twice moves it twice", async () => {
      await make("moving", { compositionUpdatePolicy: "Manual", ...select("alpha") });
      await reaches("moving", made[2] ?? "");
      await edit("moving", select("stable"));
      await reaches("moving", made[3] ?? "");
      await edit("moving", select("alpha"));
      await reaches("moving", made[2] ?? "");
    });

    test("Manual with a revision that carries the labels: it stays, though there is a newer one", async () => {
      await make("pinned", {
        compositionUpdatePolicy: "Manual",
        ...select("alpha"),
        compositionRevisionRef: { name: made[1] },
      });
      await reaches("pinned", made[1] ?? "");
      await staysAt("pinned", made[1] ?? "");
    });

    test("Manual with a selector that nothing carries: it stays where it is", async () => {
      await make("staying", { compositionUpdatePolicy: "Manual", ...select("stable") });
      await reaches("staying", made[3] ?? "");
      await edit("staying", select("none"));
      const xr = await eventually("the composite resource has the selector", async () => {
        const { items } = await plane.users.list(bucketType);
        return items.find((one) => isOf(one, `${prefix}-staying`) && JSON.stringify(specOf(one)).includes("none"));
      });
      const warning = `Warning SelectComposition: no CompositionRevision of Composition "example" matches the compositionRevisionSelector, staying on "${made[3]}"`;
      await eventually("the warning", async () => (await plane.events(xr)).includes(warning));
      await staysAt("staying", made[3] ?? "");
    });
  });
}

/** Whether a composite resource is this one, or that of this claim. */
function isOf({ metadata }: KubeObject, name: string): boolean {
  return metadata.name === name || metadata.labels?.["crossplane.io/claim-name"] === name;
}

test("the design's composite resource runs the alpha revision, and a label taken from that moves it", async () => {
  await plane.apply(load(bucketYaml) as KubeObject);
  const key = { name: "my-bucket" };
  const bucket = await plane.until("it is at the alpha revision", bucketType, key, at(made[2] ?? ""));
  assert.equal((bucket["status"] as { readonly channel?: string }).channel, "alpha");
  await rendersAsApplied(plane.users, bucketType, key);
  await plane.users.patch(
    { ...revisionType, name: made[2] ?? "" },
    { metadata: { labels: { "release-channel": null } } },
    { type: "merge" },
  );
  await plane.until("it is at the other alpha revision", bucketType, key, at(made[1] ?? ""));
});

test("a new revision wakes the resources that select it, and writes stop once they are settled", async () => {
  const name = await release("alpha");
  for (const { title, type, key } of kinds) {
    const prefix = title.endsWith("claim") ? "c" : "x";
    await plane.until("Automatic follows", type, key(`${prefix}-auto`), at(name));
    const pinned = async (): Promise<string | undefined> => revisionOf(await plane.get(type, key(`${prefix}-pinned`)));
    await stays("the revision of Manual that matches", pinned, made[1]);
  }
  await eventually("no writes", async () => {
    plane.takeWrites();
    await new Promise((resolve) => setTimeout(resolve, 1000));
    return plane.takeWrites().length === 0;
  });
});
