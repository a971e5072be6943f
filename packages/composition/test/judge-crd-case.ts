// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import type { KubeClient } from "@purlin/kube-client";
import { findStatusError } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, keyOf } from "@purlin/kube-objects/object";
import type { CrdCase } from "./crd-case.ts";

/** Fails when the server judges an object otherwise than the case says. */
export async function judgeCrdCase(
  client: KubeClient,
  { object, change, through, refused, stored }: CrdCase,
): Promise<void> {
  if (change === undefined) {
    await judge(() => client.create(object), refused);
    return judgeStored(client, object, stored);
  }
  const { apiVersion, kind } = await client.create(object);
  const type = { apiVersion: through ?? apiVersion, kind, ...keyOf(object) };
  const patch: JsonObject = "metadata" in change ? change : { spec: change };
  await judge(() => client.patch(type, patch, { type: "merge" }), refused);
}

async function judgeStored(client: KubeClient, object: KubeObject, stored: CrdCase["stored"]): Promise<void> {
  if (stored === undefined) return;
  const found = await client.get(object, keyOf(object));
  for (const [path, value] of Object.entries(stored)) assert.deepEqual(at(found, path), value, path);
}

async function judge(write: () => Promise<KubeObject>, refused: CrdCase["refused"]): Promise<void> {
  if (refused === undefined) {
    await write();
    return;
  }
  const [field, text] = refused;
  await assert.rejects(write, (error: unknown) => {
    const status = findStatusError(error);
    assert.ok(status, String(error));
    assert.equal(status.code, 422, status.message);
    const causes = (status.status.details?.causes ?? []).map((cause) => `${cause.field}: ${cause.message}`);
    assert.ok(
      causes.some((cause) => cause.startsWith(`${field}: `) && cause.includes(text)),
      `wanted ${field}: …${text}…, got\n${causes.join("\n")}`,
    );
    return true;
  });
}

function at(object: KubeObject, path: string): unknown {
  return path.split(".").reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], object);
}
