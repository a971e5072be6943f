// SPDX-License-Identifier: Apache-2.0
// A provider that is killed before or after every write and every call of the external system: nothing is created twice, nothing is orphaned.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { KubeTransport } from "@purlin/kube-client";
import { ignoreNotFound } from "@purlin/kube-objects/errors";
import type { KubeObject } from "@purlin/kube-objects/object";
import { conditionText, type ManagedScene, startManagedScene, thing } from "../test/managed-scene.ts";
import type { ManagedResource } from "./managed-resource.ts";
import { externalAnnotations, isCreateIncomplete } from "./references.ts";

/** Counts the steps of a provider that others can see, and kills it before or after one of them. */
class Life {
  #steps = 0;
  #isDead = false;
  #at = Number.POSITIVE_INFINITY;
  #when: "before" | "after" = "before";

  get steps(): number {
    return this.#steps;
  }

  /** A new provider, which dies at a step; never without one. */
  begin(at = Number.POSITIVE_INFINITY, when: "before" | "after" = "before"): void {
    [this.#steps, this.#isDead, this.#at, this.#when] = [0, false, at, when];
  }

  /** Starts the provider again if it has died. */
  revive(): void {
    if (!this.#isDead) return;
    this.#isDead = false;
    this.#at = Number.POSITIVE_INFINITY;
  }

  async step<T>(effect: () => Promise<T> | T): Promise<T> {
    this.require();
    const isLast = this.#steps++ === this.#at;
    if (isLast && this.#when === "before") this.#isDead = true;
    this.require();
    const result = await effect();
    if (isLast) this.#isDead = true;
    this.require();
    return result;
  }

  require(): void {
    if (this.#isDead) throw new Error("killed");
  }
}

const life = new Life();

function mortal(inner: KubeTransport): KubeTransport {
  return {
    ...inner,
    request(request) {
      life.require();
      return request.method === "GET" ? inner.request(request) : life.step(() => inner.request(request));
    },
  };
}

interface World {
  /** The external resources, each with the name of its managed resource. */
  readonly external: Map<string, { readonly of: string; size: unknown }>;
  created: number;
}

/** Manages entries of a Map; names are those of the managed resources, or numbers that the external system assigns. */
function handlers(world: World, isAssigned: boolean): Partial<ManagedResource> {
  const { external } = world;
  return {
    externalName: isAssigned ? "fromCreate" : "fromName",
    async observe({ externalName, forProvider }) {
      life.require();
      const found = external.get(externalName);
      return found === undefined ? { exists: false } : { exists: true, upToDate: found.size === forProvider["size"] };
    },
    create: ({ externalName, forProvider, object }) =>
      life.step(() => {
        const name = isAssigned ? `n${++world.created}` : externalName;
        external.set(name, { of: object.metadata.name ?? "", size: forProvider["size"] });
        return { externalName: name };
      }),
    update: ({ externalName, forProvider }) =>
      life.step(() => {
        const found = external.get(externalName);
        if (found !== undefined) found.size = forProvider["size"];
        return undefined;
      }),
    delete: ({ externalName }) => life.step(() => void external.delete(externalName)),
  };
}

suite("a provider that is killed", () => {
  let scene: ManagedScene;
  let made = 0;
  before(async () => {
    life.begin();
    scene = await startManagedScene(mortal);
  });
  after(() => scene?.[Symbol.asyncDispose]());

  const find = (object: KubeObject): Promise<KubeObject | undefined> => ignoreNotFound(scene.get(object));

  /** Reconciles, with a new provider after each death, until the object is as wanted. */
  async function until(
    object: KubeObject,
    more: Partial<ManagedResource>,
    isWanted: (stored: KubeObject | undefined) => boolean,
  ): Promise<void> {
    for (let left = 20; left > 0; left--) {
      const stored = await find(object);
      if (isWanted(stored)) return;
      life.revive();
      scene.clock.advance(2_000);
      await scene.reconcile(object, more).catch(() => undefined);
      if (stored !== undefined && isCreateIncomplete(stored)) await decide(stored, more);
    }
    assert.fail(`not settled: ${JSON.stringify(await find(object))}`);
  }

  /** A creation whose result is unknown needs a user, who looks at the external system. Names that are known need none. */
  async function decide(stored: KubeObject, { externalName }: Partial<ManagedResource>): Promise<void> {
    const now = await find(stored);
    if (externalName !== "fromCreate" || now === undefined || !isCreateIncomplete(now)) return;
    assert.match(conditionText(now, "Synced"), /cannot determine creation result - remove the/);
    const [name] = [...world.external].find(([, one]) => one.of === stored.metadata.name) ?? [];
    const annotations = {
      [externalAnnotations.pending]: null,
      ...(name !== undefined && { [externalAnnotations.name]: name }),
    };
    await scene.kube.patch({ ...thing, ...namesOf(stored) }, { metadata: { annotations } }, { type: "merge" });
  }

  const world: World = { external: new Map(), created: 0 };
  const namesOf = ({ metadata: { name = "" } }: KubeObject) => ({ name, namespace: "default" });
  const isReady =
    (size: string) =>
    (stored: KubeObject | undefined): boolean =>
      stored !== undefined &&
      conditionText(stored, "Ready").startsWith("True") &&
      [...world.external.values()].some((one) => one.of === stored.metadata.name && one.size === size);

  /** The life of one resource: created, changed, deleted. Returns how many steps the provider took. */
  async function live(isAssigned: boolean, at?: number, when?: "before" | "after"): Promise<number> {
    const metadata = { name: `crash-${++made}`, namespace: "default" };
    const object = { ...thing, metadata, spec: { forProvider: { size: "1" } } } as KubeObject;
    const more = handlers(world, isAssigned);
    life.begin(at, when);
    await scene.kube.create(object);
    await until(object, more, isReady("1"));
    assert.equal(world.external.size, 1, "one external resource");
    await scene.kube.patch({ ...thing, ...metadata }, { spec: { forProvider: { size: "2" } } }, { type: "merge" });
    await until(object, more, isReady("2"));
    scene.clock.advance(60_000);
    await scene.kube.delete({ ...thing, ...metadata });
    await until(object, more, (stored) => stored === undefined);
    assert.deepEqual([...world.external.keys()], [], "nothing is orphaned");
    return life.steps;
  }

  for (const isAssigned of [false, true]) {
    const names = isAssigned ? "names that the external system assigns" : "names that are known";
    test(`${names}: one external resource, and none left, wherever it is killed`, async () => {
      const steps = await live(isAssigned);
      assert.ok(steps >= 8, `${steps} steps`);
      for (let at = 0; at < steps; at++) {
        for (const when of ["before", "after"] as const) {
          await live(isAssigned, at, when).catch((error: unknown) => {
            throw new Error(`killed ${when} step ${at}: ${error}`, { cause: error });
          });
        }
      }
    });
  }
});
