// SPDX-License-Identifier: Apache-2.0
// A claim is brought up, changed and deleted while its controller dies at each of its writes in turn, before the server
// has it and after: the end is the same as without.

import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { eventually } from "@purlin/kube-controller/testing";
import type { JsonValue } from "@purlin/kube-objects/json";
import { controllerReference, type KubeObject, memberAt, withMember } from "@purlin/kube-objects/object";
import { appKind, ready, shop, startTestClaims, type TestClaims } from "../../test/definition-control.ts";
import { kinds } from "../composite-resource/constants.ts";

class Killed extends Error {}

let claims: TestClaims;
before(async () => {
  claims = await startTestClaims({ random: () => 0 });
});
after(() => claims[Symbol.asyncDispose]());

/** Passes until nothing is written, as often as the controller would try. */
async function settle(name: string): Promise<void> {
  for (let tries = 0; tries < 20; tries++) {
    claims.control.takeWrites();
    const result = await claims.pass(name);
    if (!(result instanceof Error) && claims.control.takeWrites().length === 0) return;
  }
  throw new Error(`${name} does not settle`);
}

const xrOf = (name: string): Promise<KubeObject | undefined> =>
  claims.control.client.get(appKind.compositeType, { name: `${name}-bbbbb` });

/** What others do to the claim and its composite resource; between two of them the claim settles. */
const life: readonly ((name: string) => Promise<unknown>)[] = [
  async (name) => {
    const xr = await claims.edit(await claims.xr(name), ["spec", "writeConnectionSecretToRef"], {
      namespace: shop,
      name: `${name}-source`,
    });
    const metadata = { namespace: shop, name: `${name}-source`, ownerReferences: [controllerReference(xr)] };
    await claims.control.users.create({
      ...kinds.secret,
      metadata,
      type: "connection.crossplane.io/v1alpha1",
      data: { a: "YQ==" },
    });
    await claims.edit(xr, ["spec", "compositionRef"], { name: "chosen" });
    return claims.editStatus(await claims.xr(name), { url: "u", conditions: [ready()] });
  },
  async (name) => {
    const edited = withMember(await claims.claim(name), ["spec", "image"], "b");
    return claims.control.client.update(withMember(edited, ["metadata", "labels"], undefined));
  },
];

/** What is left of everything, without what differs from run to run. */
async function end(name: string): Promise<string> {
  const xrs = await claims.control.client.list(appKind.compositeType, { labels: { "crossplane.io/claim-name": name } });
  const secret = await claims.control.client.get(kinds.secret, { namespace: shop, name: `${name}-details` });
  const claim = await claims.control.client.get(appKind.claimType, { namespace: shop, name });
  const shown = [claim, ...xrs, secret].map((object) => object && visible(object));
  return JSON.stringify(shown, undefined, 1).replaceAll(name, "NAME");
}

function visible(object: KubeObject): JsonValue {
  const { labels = {}, finalizers = [] } = object.metadata;
  const { spec = null, status = null, data = null } = object as unknown as Record<string, JsonValue>;
  return JSON.parse(
    JSON.stringify({ kind: object.kind, labels, finalizers, spec, status, data }, (key, value) =>
      key === "lastTransitionTime" || key === "observedGeneration" ? undefined : (value as unknown),
    ),
  ) as JsonValue;
}

interface Lived {
  readonly writes: number;
  readonly before: string;
  readonly after: string;
}

/** Lives a claim's life, in which the `nth` write of its controller dies. */
async function live(name: string, nth: number, how: "failWhen" | "loseWhen"): Promise<Lived> {
  let writes = 0;
  const isOurs = (path: string): boolean => path.includes(name);
  const armed = { on: false };
  const stop = claims.control[how](({ method, path }) => {
    if (method === "GET" || !armed.on || !isOurs(path) || ++writes !== nth) return undefined;
    return new Killed(`write ${nth} died`);
  });
  const settled = async (): Promise<void> => {
    armed.on = true;
    await settle(name);
    armed.on = false;
  };
  await claims.create(
    name,
    { image: "a", writeConnectionSecretToRef: { name: `${name}-details` } },
    { labels: { tier: "x" } },
  );
  await settled();
  for (const event of life) {
    await event(name);
    await settled();
  }
  const before = await end(name);
  await claims.control.client.delete({ ...appKind.claimType, namespace: shop, name });
  await settled();
  stop();
  // The garbage collector deletes the claim's Secret some time after the claim.
  const secret = { namespace: shop, name: `${name}-details` };
  await eventually(
    "the Secret is gone",
    async () => (await claims.control.client.get(kinds.secret, secret)) === undefined,
  );
  return { writes, before, after: await end(name) };
}

suite("dying at any write of a claim's reconcile", () => {
  test("leads to the same end, and leaves nothing behind", async () => {
    const wanted = await live("reference", 0, "failWhen");
    assert.ok(wanted.writes >= 8, `${wanted.writes} writes`);
    assert.match(wanted.before, /"image": "b"/);
    assert.doesNotMatch(wanted.before, /tier/);
    assert.equal(await xrOf("reference"), undefined);
    for (const how of ["failWhen", "loseWhen"] as const) {
      for (let nth = 1; nth <= wanted.writes; nth++) {
        const name = `${how === "failWhen" ? "before" : "after"}-${nth}`;
        const lived = await live(name, nth, how);
        assert.equal(lived.before, wanted.before, `${name} alive`);
        assert.equal(lived.after, wanted.after, `${name} deleted`);
        assert.equal(await xrOf(name), undefined, `${name} left a composite resource`);
      }
    }
  });
});

test("the reference is stored before the composite resource", async () => {
  await claims.create("ordered", {});
  claims.control.takeWrites();
  await claims.pass("ordered");
  const [first, second] = claims.control.takeWrites();
  assert.match(first ?? "", /^PUT .*\/apps\/ordered$/);
  assert.match(second ?? "", /^PATCH .*\/xapps\//);
  assert.equal(memberAt(await claims.claim("ordered"), ["spec", "resourceRef", "name"]), "ordered-bbbbb");
});
