// SPDX-License-Identifier: Apache-2.0
import type { Log } from "@purlin/base";
import type { ControlPlaneDeps } from "@purlin/control-plane";
import { type KubeObject, keyOf, type TypeRef } from "@purlin/kube-objects/object";
import { definitionType, kindsOf } from "../tree/defined-kinds.ts";
import { textOf } from "../user-error.ts";

const compositionType: TypeRef = { apiVersion: "apiextensions.crossplane.io/v1", kind: "Composition" };

/** Has all composite resources that a function takes part in looked at again: its author wants to see what changed. */
export async function wakeComposites(parts: ControlPlaneDeps, functionName: string, log: Log): Promise<void> {
  try {
    const { client, engine } = parts;
    const compositions = await client.list(compositionType);
    const types = new Set(compositions.filter((one) => uses(one, functionName)).map(compositeTypeOf));
    for (const definition of await client.list(definitionType)) {
      const kinds = kindsOf(definition);
      if (kinds === undefined || !types.has(typeText(kinds.composite))) continue;
      const name = `composite/${definition.metadata.name ?? ""}`;
      if (!engine.isRunning(name)) continue;
      for (const object of await client.list(kinds.composite)) engine.enqueue(name, keyOf(object));
    }
  } catch (error) {
    // They are looked at again anyway, only later.
    log.info("cannot requeue composite resources", { function: functionName, error: textOf(error) });
  }
}

interface CompositionSpec {
  readonly compositeTypeRef?: Partial<TypeRef>;
  readonly pipeline?: readonly { readonly functionRef?: { readonly name?: string } }[];
}

function specOf(composition: KubeObject): CompositionSpec {
  return (composition["spec"] ?? {}) as CompositionSpec;
}

function uses(composition: KubeObject, functionName: string): boolean {
  return specOf(composition).pipeline?.some(({ functionRef }) => functionRef?.name === functionName) === true;
}

function compositeTypeOf(composition: KubeObject): string {
  const { apiVersion = "", kind = "" } = specOf(composition).compositeTypeRef ?? {};
  return typeText({ apiVersion, kind });
}

function typeText({ apiVersion, kind }: TypeRef): string {
  return `${apiVersion}/${kind}`;
}
