// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import type { KubeObject } from "@purlin/kube-objects/object";
import { type AttackedPlane, until, xrType } from "./attacked-plane.ts";
import type { Attack } from "./attacks.ts";

/** What an XR has composed. */
export async function composedIn({ users }: AttackedPlane, name: string): Promise<readonly KubeObject[]> {
  const labelSelector = `crossplane.io/composite=${name}`;
  return (await users.list({ apiVersion: "v1", kind: "ConfigMap" }, { labelSelector })).items;
}

/** Deletes an XR and waits until it is gone, with all that it composed. */
export async function removeAttack(plane: AttackedPlane, name: string): Promise<void> {
  await plane.users.delete({ ...xrType, name });
  const isGone = async (): Promise<boolean> => {
    const { items } = await plane.users.list(xrType);
    return !items.some(({ metadata }) => metadata.name === name) && (await composedIn(plane, name)).length === 0;
  };
  await until(`${name} is gone`, isGone, () => "");
}

/** Makes an XR that gets a hostile answer: it says why the answer is refused, nothing is composed, and no turn takes long. */
export async function expectRefused(plane: AttackedPlane, name: string, { answer, refused }: Attack): Promise<void> {
  // Made here, not while the control plane is measured.
  try {
    answer({ requiredResources: new Map() } as never);
  } catch {}
  await plane.watched.during(name, async () => {
    const { status, message = "" } = await plane.attack(name);
    assert.equal(status, "False", message.slice(0, 500));
    assert.match(message, refused ?? /never/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about.
    assert.doesNotMatch(message, /[\u0000-\u001f\u007f-\u009f]/);
    assert.ok(Buffer.byteLength(message) <= 32_768);
    assert.deepEqual(await composedIn(plane, name), []);
    await removeAttack(plane, name);
  });
}
