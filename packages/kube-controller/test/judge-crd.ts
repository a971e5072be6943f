// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import type { KubeClient } from "@purlin/kube-client";
import { findStatusError } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { type KubeObject, keyOf, objectAt, objectsAt, textAt } from "@purlin/kube-objects/object";

/** The fields of a CRD about which `kubectl explain` has nothing to say, as `Kind version: path`. */
export function undescribedFields(crd: KubeObject): string[] {
  const kind = textAt(crd, ["spec", "names", "kind"]);
  return objectsAt(crd, ["spec", "versions"]).flatMap((version) => {
    const root = objectAt(version, ["schema", "openAPIV3Schema"]);
    const missing = typeof root["description"] === "string" ? [] : ["(the kind itself)"];
    // The API server describes metadata by itself, and refuses a description of it in a CRD.
    const fields = fieldsOf(root, "").filter((path) => path !== ".metadata");
    return [...missing, ...fields].map((path) => `${kind} ${version["name"]}: ${path}`);
  });
}

function fieldsOf(schema: JsonObject, path: string): string[] {
  const inner = [schema["items"], schema["additionalProperties"]].filter((one) => isJsonObject(one));
  const properties = isJsonObject(schema["properties"]) ? Object.entries(schema["properties"]) : [];
  return [
    ...inner.flatMap((one) => fieldsOf(one, path)),
    ...properties.flatMap(([name, field]) => {
      const own = `${path}.${name}`;
      if (!isJsonObject(field)) return [own];
      return [...(field["description"] ? [] : [own]), ...fieldsOf(field, own)];
    }),
  ];
}

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

/** An object, what happens to it, and what the server says. */
export interface CrdCase {
  readonly reason: string;
  readonly object: KubeObject;
  /** A merge patch after the object was created. Then it is the patch that is judged. */
  readonly change?: JsonObject;
  /** The version the patch goes through, when it is another. */
  readonly through?: string;
  /** Field and text of the refusal. Absent: accepted. */
  readonly refused?: readonly [field: string, text: string];
  /** Members of the object when it is read back, by path. */
  readonly stored?: Readonly<Record<string, JsonValue | undefined>>;
}

/** The error for a value that may be set once. */
export const immutableText = "Value is immutable";

let numbers = 0;

/** Another number each time, for names. */
export function nextNumber(): number {
  return ++numbers;
}
