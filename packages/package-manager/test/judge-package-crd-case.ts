// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import type { KubeClient } from "@purlin/kube-client";
import { findStatusError } from "@purlin/kube-objects/errors";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { PackageCrdCase } from "./package-crd-cases.ts";

/** Fails when the server judges an object otherwise than the case says. */
export async function judgePackageCrdCase(
  client: KubeClient,
  { object, refused, stored = {} }: PackageCrdCase,
): Promise<void> {
  if (refused === undefined) {
    const made = await client.create(object);
    for (const [path, value] of Object.entries(stored)) assert.deepEqual(at(made, path), value, path);
    return;
  }
  const [field, text] = refused;
  await assert.rejects(client.create(object), (error: unknown) => {
    const status = findStatusError(error);
    assert.equal(status?.code, 422, String(error));
    const causes = (status.status.details?.causes ?? []).map((cause) => `${cause.field}: ${cause.message}`);
    const isThere = causes.some((cause) => cause.startsWith(`${field}: `) && cause.includes(text));
    assert.ok(isThere, `wanted ${field}: …${text}…, got\n${causes.join("\n")}`);
    return true;
  });
}

function at(object: KubeObject, path: string): unknown {
  return path.split(".").reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], object);
}
