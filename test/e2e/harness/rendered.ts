// SPDX-License-Identifier: Apache-2.0
// What `purlin render` says about a composite resource is what the control plane has done about it.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { type Io, run, type TextSink } from "@purlin/cli";
import type { KubeClient } from "@purlin/kube-client";
import { isNotFound } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject, ObjectKey, TypeRef } from "@purlin/kube-objects/object";
import { loadAll } from "js-yaml";
import { contains } from "../../../packages/composition/test/test-control.ts";
import { appliedOnly } from "./applied-fields.ts";
import { conditionsOf } from "./plane.ts";

/** What functions are answered from, beside what the composite resource itself refers to. */
export interface RenderWish {
  /** Kinds that functions require objects of. */
  readonly required?: readonly TypeRef[];
  /** Documents of the server's OpenAPI that functions require schemas from, such as `apis/apps/v1`. */
  readonly schemas?: readonly string[];
  /** For functions that a control plane runs: their revisions are given as well, and called so. */
  readonly access?: FunctionAccess;
}

/** How functions that a control plane runs are called. */
export interface FunctionAccess {
  /** A folder with the certificate to call them with. */
  readonly certificates: string;
  /** Resolves the names of their Services. */
  readonly names?: NonNullable<Io["names"]>;
}

const definitions: TypeRef = { apiVersion: "apiextensions.crossplane.io/v1", kind: "CompositeResourceDefinition" };
const revisions: TypeRef = { apiVersion: "apiextensions.crossplane.io/v1", kind: "CompositionRevision" };
const functions: TypeRef = { apiVersion: "pkg.crossplane.io/v1", kind: "Function" };
const functionRevisions: TypeRef = { apiVersion: "pkg.crossplane.io/v1", kind: "FunctionRevision" };
const secrets: TypeRef = { apiVersion: "v1", kind: "Secret" };

/** A pass that was begun before may continue for a while on a machine with much to do. */
const patienceMs = 60_000;

/**
 * Renders a composite resource that has come to rest, with all it composed as observed state, and compares: the same
 * resources with the same names, no field more or less than was applied, the same references, conditions and status.
 */
export async function rendersAsApplied(
  users: KubeClient,
  type: TypeRef,
  key: ObjectKey,
  wish: RenderWish = {},
): Promise<void> {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    try {
      return await compare(users, await users.get(type, key), wish);
    } catch (error) {
      // A pass may be under way that was begun before; what is different stays different.
      if (Date.now() > deadline) throw error;
      await delay(200);
    }
  }
}

async function compare(users: KubeClient, xr: KubeObject, wish: RenderWish): Promise<void> {
  const applied = await composedBy(xr, users);
  const inputs = await inputsOf(xr, applied, users, wish);
  const [printed, ...resources] = await render(inputs, wish.access);
  assert.ok(printed);
  assert.deepEqual(
    crossplaneFieldsOf(printed).resourceRefs ?? [],
    crossplaneFieldsOf(xr).resourceRefs ?? [],
    "references",
  );
  assert.deepEqual(conditionsOf(printed), conditionsOf(xr), "conditions");
  assert.deepEqual(ownStatus(printed), ownStatus(choosesRevision(inputs) ? xr : withoutRan(xr)), "status");
  const nameOf = ({ kind, metadata }: KubeObject): string => `${kind} ${metadata.name}`;
  assert.deepEqual(resources.map(nameOf).sort(), applied.map(nameOf).sort(), "composed resources");
  for (const resource of resources) {
    const stored = applied.find((one) => nameOf(one) === nameOf(resource)) as KubeObject;
    contains(asJson(stored), asJson(resource), nameOf(resource));
    appliedOnly(stored, asJson(resource), nameOf(resource));
  }
}

interface CrossplaneFields {
  readonly compositionRef?: { readonly name: string };
  readonly compositionRevisionRef?: { readonly name: string };
  readonly resourceRefs?: readonly (TypeRef & { readonly name: string; readonly namespace?: string })[];
  readonly writeConnectionSecretToRef?: { readonly name: string; readonly namespace?: string };
}

function crossplaneFieldsOf(object: KubeObject): CrossplaneFields {
  const spec = (object["spec"] ?? {}) as CrossplaneFields & { readonly crossplane?: CrossplaneFields };
  return { ...spec, ...spec.crossplane };
}

/** What functions say about the composite resource, and nothing that says when. */
function ownStatus(object: KubeObject): object {
  const { conditions: _, connectionDetails: _when, ...own } = (object["status"] ?? {}) as Record<string, unknown>;
  return own;
}

/** A control plane always reports the revision that ran; a render knows it only where the step chooses one. */
function choosesRevision({ composition: [composition] }: Inputs): boolean {
  const { pipeline } = (composition as { readonly spec: { readonly pipeline: readonly object[] } }).spec;
  return pipeline.some(
    (step) => "functionRevisionRef" in step || "functionRevisionSelector" in step || "function" in step,
  );
}

/** A composite resource without the function revisions that ran. */
function withoutRan(xr: KubeObject): KubeObject {
  const { crossplane: _, ...status } = (xr["status"] ?? {}) as Record<string, unknown>;
  return { ...xr, status } as KubeObject;
}

const asJson = (object: KubeObject): JsonObject => object as unknown as JsonObject;

async function composedBy(xr: KubeObject, users: KubeClient): Promise<KubeObject[]> {
  const found = (crossplaneFieldsOf(xr).resourceRefs ?? []).map(({ apiVersion, kind, name, namespace }) =>
    users.get({ apiVersion, kind }, { name, namespace: namespace ?? xr.metadata.namespace }),
  );
  return Promise.all(found);
}

/** A file for each argument, by its name. */
type Inputs = Readonly<
  Record<"xr" | "composition" | "functions" | "xrd" | "observed" | "required" | "secrets", unknown[]>
> & {
  readonly schemas: readonly unknown[];
};

async function inputsOf(xr: KubeObject, applied: KubeObject[], users: KubeClient, wish: RenderWish): Promise<Inputs> {
  const { compositionRef, compositionRevisionRef } = crossplaneFieldsOf(xr);
  const revision = await users.get(revisions, { name: compositionRevisionRef?.name ?? "" });
  const { revision: _number, ...spec } = revision["spec"] as Record<string, unknown>;
  const composition = { ...revisions, kind: "Composition", metadata: { name: compositionRef?.name }, spec };
  const kinds = await users.list(definitions);
  const required = await Promise.all((wish.required ?? []).map((type) => users.list(type)));
  const serving = wish.access === undefined ? [] : (await users.list(functionRevisions)).items;
  return {
    xr: [withoutRan(xr)],
    composition: [composition],
    functions: [...(await users.list(functions)).items, ...serving],
    xrd: kinds.items.filter((one) => defines(one, xr)),
    observed: applied,
    required: required.flatMap(({ items }) => items),
    secrets: await secretsFor(revision, [xr, ...applied], users),
    schemas: await Promise.all((wish.schemas ?? []).map((path) => openApiOf(path, users))),
  };
}

function defines(definition: KubeObject, xr: KubeObject): boolean {
  const { group, names } = definition["spec"] as { readonly group: string; readonly names: { readonly kind: string } };
  return xr.apiVersion.startsWith(`${group}/`) && names.kind === xr.kind;
}

type SecretKey = {
  readonly name: string;
  readonly namespace?: string;
};

/** Those that steps name as credentials, and those that hold connection details. */
async function secretsFor(
  revision: KubeObject,
  objects: readonly KubeObject[],
  users: KubeClient,
): Promise<KubeObject[]> {
  const { pipeline } = revision["spec"] as { pipeline: { credentials?: { secretRef?: SecretKey }[] }[] };
  const credentials = pipeline.flatMap((step) => (step.credentials ?? []).flatMap(({ secretRef }) => secretRef ?? []));
  const details = objects.flatMap((object) => {
    const ref = crossplaneFieldsOf(object).writeConnectionSecretToRef;
    return ref === undefined ? [] : [{ name: ref.name, namespace: object.metadata.namespace ?? ref.namespace }];
  });
  const found = [...credentials, ...details].map(({ name, namespace }) =>
    users.get(secrets, { name, namespace }).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    }),
  );
  return (await Promise.all(found)).filter((secret) => secret !== undefined);
}

function openApiOf(path: string, users: KubeClient): Promise<unknown> {
  return users.raw({ method: "GET", path: `/openapi/v3/${path}` });
}

/** Runs the command over files, as a person would. */
async function render({ schemas, ...inputs }: Inputs, access?: FunctionAccess): Promise<KubeObject[]> {
  const folder = mkdtempSync(join(tmpdir(), "e2e-render-"));
  try {
    for (const [name, objects] of Object.entries(inputs)) {
      const text = objects.map((object) => `---\n${JSON.stringify(object)}\n`).join("");
      writeFileSync(join(folder, `${name}.yaml`), text);
    }
    for (const [index, document] of schemas.entries()) {
      writeFileSync(join(folder, `schema-${index}.json`), JSON.stringify(document));
    }
    const [out, err] = [keeping(), keeping()];
    const words = [
      ...commandLine(inputs),
      ...(schemas.length > 0 ? ["-s", "."] : []),
      ...(access === undefined ? [] : ["--tls-client-certs-dir", access.certificates]),
    ];
    const exitCode = await run(words, {
      stdin: Readable.from([]),
      stdout: out.sink,
      stderr: err.sink,
      env: {},
      cwd: folder,
      signal: AbortSignal.timeout(120_000),
      ...(access?.names && { names: access.names }),
    });
    assert.equal(exitCode, 0, err.text());
    return loadAll(out.text()) as KubeObject[];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function commandLine(inputs: Omit<Inputs, "schemas">): string[] {
  const flags = { observed: "-o", required: "-e", secrets: "--function-credentials" } as const;
  const more = Object.entries(flags).flatMap(([name, flag]) =>
    inputs[name as keyof typeof flags].length > 0 ? [flag, `${name}.yaml`] : [],
  );
  return ["render", "xr.yaml", "composition.yaml", "functions.yaml", "--xrd", "xrd.yaml", ...more];
}

function keeping(): { readonly sink: TextSink; text(): string } {
  const kept: string[] = [];
  return {
    text: () => kept.join(""),
    sink: { isTTY: false, columns: 100, write: (text) => void kept.push(text), move: () => {} },
  };
}
