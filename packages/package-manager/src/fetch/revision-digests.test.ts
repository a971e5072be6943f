// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ControllerClient } from "@purlin/kube-controller";
import type { KubeObject, TypeRef } from "@purlin/kube-objects/object";
import { digestOf } from "@purlin/oci";
import { digestsOfRevisions } from "./image-pins.ts";

const [one, two, three] = [digestOf("one"), digestOf("two"), digestOf("three")];
const of = (spec: object): KubeObject => ({ apiVersion: "v1", kind: "R", metadata: {}, spec }) as KubeObject;

test("images are those revisions of any kind name by digest, in whatever way, each once", async () => {
  const stored: Record<string, KubeObject[]> = {
    FunctionRevision: [
      of({ image: "r.example.org/f:v1", digest: one }),
      of({ image: "r.example.org/f:v2", digest: one, desiredState: "Inactive" }),
      of({ image: "r.example.org/f:v3" }),
      of({ image: "r.example.org/f:v4", digest: "sha256:short" }),
      of({}),
    ],
    ProviderRevision: [of({ image: `r.example.org/p@${two}` })],
    ConfigurationRevision: [of({ image: `r.example.org/c:v1@${three}` })],
  };
  const list = (async ({ kind }: TypeRef) => stored[kind] ?? []) as ControllerClient["list"];
  assert.deepEqual([...(await digestsOfRevisions({ list }))].toSorted(), [one, two, three].toSorted());
});
