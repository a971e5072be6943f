// SPDX-License-Identifier: Apache-2.0
// The texts are those of kube-apiserver 1.36.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { Authorizer } from "../auth/authorizer.ts";
import type { AdmissionAttributes } from "./admission.ts";
import { signerPlugins } from "./signer-access.ts";

const type = { group: "certificates.k8s.io", version: "v1", resource: "certificatesigningrequests", kind: "x" };
const object = (status: JsonObject = {}): JsonObject => ({ spec: { signerName: "example.org/s" }, status });

/** What the plugins refuse about a write, when the user has rights as `VERB NAME`. */
function refusals(subresource: string, rights: readonly string[], now: JsonObject): string[] {
  const authorizer: Authorizer = (_user, access) => ({
    allowed:
      access.kind === "resource" && access.resource === "signers" && rights.includes(`${access.verb} ${access.name}`),
    reason: "",
  });
  const write = {
    operation: "UPDATE",
    type,
    subresource,
    object: now,
    old: object(),
    name: "r",
    user: { name: "ann" },
  };
  const attributes = write as object as AdmissionAttributes;
  return signerPlugins(authorizer)
    .filter((plugin) => plugin.handles(attributes))
    .flatMap((plugin) => {
      try {
        plugin.validate?.(attributes);
        return [];
      } catch (error) {
        return [(error as Error).message];
      }
    });
}

const approved = object({ conditions: [{ type: "Approved" }] });
const says = (verb: string): string =>
  `certificatesigningrequests.certificates.k8s.io "r" is forbidden: user not permitted to ${verb} requests with signerName "example.org/s"`;

const cases: Readonly<Record<string, readonly [subresource: string, right: string, now: JsonObject, want: string[]]>> =
  {
    "an approval without a right": ["approval", "", approved, [says("approve")]],
    "an approval with the right on the signer": ["approval", "approve example.org/s", approved, []],
    "an approval with the right on the domain": ["approval", "approve example.org/*", approved, []],
    "an approval with the right on another signer": ["approval", "approve example.org/t", approved, [says("approve")]],
    "an approval with the right to sign": ["approval", "sign example.org/s", approved, [says("approve")]],
    "an approval of a request that names another signer": [
      "approval",
      "approve example.org/t",
      { spec: { signerName: "example.org/t" } },
      [says("approve")],
    ],
    "a certificate without a right": ["status", "", object({ certificate: "eA==" }), [says("sign")]],
    "a condition without a right": ["status", "approve example.org/s", approved, [says("sign")]],
    "a certificate with the right to sign": ["status", "sign example.org/*", object({ certificate: "eA==" }), []],
    "a status that is the same": ["status", "", object(), []],
    "a write of the request itself": ["", "", approved, []],
  };

for (const [name, [subresource, right, now, want]] of Object.entries(cases)) {
  test(`${name} is ${want.length === 0 ? "admitted" : "refused"}`, () => {
    assert.deepEqual(refusals(subresource, [right], now), want);
  });
}
