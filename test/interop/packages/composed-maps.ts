// SPDX-License-Identifier: Apache-2.0
import { setTimeout as delay } from "node:timers/promises";
import type { KubeObject } from "@purlin/kube-objects/object";
import { type EmbeddedPlane, purlin } from "./embedded-plane.ts";
import { definition, greeting } from "./greeting-pipeline.ts";

const patienceMs = 120_000;

/** Installs a package that is a file and returns when it is healthy. */
export async function install(plane: EmbeddedPlane, name: string, file: string): Promise<void> {
  const image = await plane.push(file, `acme/${name}:v1`);
  await purlin("xpkg", "install", "function", image, name, "--data-dir", plane.directory);
  await healthy(plane, name);
}

/** Waits until a Function is healthy. */
export async function healthy(plane: EmbeddedPlane, name: string): Promise<void> {
  const ref = { apiVersion: "pkg.crossplane.io/v1", kind: "Function", name };
  await plane.until(`${name} is healthy`, ref, (found) => conditionOf(found, "Healthy")?.status === "True");
}

/** Composes a greeting with a composition and returns the data of its ConfigMaps. */
export async function composedMaps(
  { users, until }: EmbeddedPlane,
  composition: KubeObject,
  name = "one",
): Promise<readonly Record<string, string>[]> {
  await users.apply(definition, { fieldManager: "user" });
  await users.apply(composition, { fieldManager: "user" });
  const one = greeting(name);
  await eventually(() => users.create(one));
  const ref = { apiVersion: one.apiVersion, kind: one.kind, name, namespace: "default" };
  await until("the greeting is ready", ref, (found) => conditionOf(found, "Ready")?.status === "True");
  const labelSelector = `crossplane.io/composite=${name}`;
  const { items } = await users.list({ apiVersion: "v1", kind: "ConfigMap" }, { namespace: "default", labelSelector });
  return items.map((item) => item["data"] as Record<string, string>);
}

/** A condition of an object. */
export function conditionOf(object: KubeObject, type: string): { status: string; message?: string } | undefined {
  const { conditions = [] } = (object["status"] ?? {}) as {
    conditions?: { type: string; status: string; message?: string }[];
  };
  return conditions.find((one) => one.type === type);
}

async function eventually(act: () => Promise<unknown>): Promise<void> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    try {
      await act();
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await delay(200);
    }
  }
}
