// SPDX-License-Identifier: Apache-2.0
// What is read of each stored configuration of webhooks and of each stored policy. Only what has changed is read again.

import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { memberAt, stringAt } from "@purlin/kube-objects/object";
import { metaOf } from "../objects/object-members.ts";
import type { ResourceType } from "../registry/registry.ts";
import type { Entry } from "../store/store.ts";
import { type AdmissionWebhook, type ResourceMatch, webhookMatch, webhookOf } from "./admission-webhook.ts";
import { type Policy, policiesOf } from "./policy.ts";
import type { SelectedWebhook } from "./webhook-dispatch.ts";

type StoredObject = Entry<JsonObject>;

/** One webhook of a stored configuration. What it selects is kept, and the rest read while it is called: there can be 100,000. */
export class StoredWebhook {
  readonly match: ResourceMatch;
  readonly #stored: StoredObject;
  readonly #position: number;
  /** How many webhooks before it have the same name. */
  readonly #namesakes: number;
  #hook: WeakRef<AdmissionWebhook> | undefined;

  constructor(stored: StoredObject, position: number, namesakes: number) {
    this.#stored = stored;
    this.#position = position;
    this.#namesakes = namesakes;
    this.match = webhookMatch(this.#read());
  }

  get hook(): AdmissionWebhook {
    const known = this.#hook?.deref();
    if (known !== undefined) return known;
    const { name: configuration = "" } = metaOf(this.#stored.value);
    const hook = webhookOf(this.#read(), { configuration, namesakes: this.#namesakes });
    this.#hook = new WeakRef(hook);
    return hook;
  }

  #read(): JsonObject {
    const hook = listedWebhooks(this.#stored.value)[this.#position];
    return isJsonObject(hook) ? hook : {};
  }
}

/** A webhook that is selected for a class of writes. */
export class SelectedStoredWebhook implements SelectedWebhook {
  readonly type: ResourceType;
  readonly index: number;
  readonly #stored: StoredWebhook;

  constructor(stored: StoredWebhook, type: ResourceType, index: number) {
    this.#stored = stored;
    this.type = type;
    this.index = index;
  }

  get hook(): AdmissionWebhook {
    return this.#stored.hook;
  }
}

function listedWebhooks(configuration: JsonObject): readonly JsonValue[] {
  const listed = memberAt(configuration, ["webhooks"]);
  return Array.isArray(listed) ? listed : [];
}

/** The webhooks of configurations, each read once. */
export class WebhookReader {
  readonly #known = new WeakMap<StoredObject, readonly StoredWebhook[]>();

  webhooksOf(configurations: readonly StoredObject[]): readonly StoredWebhook[] {
    return configurations.flatMap((stored) => {
      const hooks = this.#known.get(stored) ?? storedWebhooks(stored);
      this.#known.set(stored, hooks);
      return hooks;
    });
  }
}

function storedWebhooks(stored: StoredObject): readonly StoredWebhook[] {
  const named = new Map<string, number>();
  return listedWebhooks(stored.value).map((hook, position) => {
    const name = isJsonObject(hook) ? stringAt(hook, ["name"]) : "";
    const namesakes = named.get(name) ?? 0;
    named.set(name, namesakes + 1);
    return new StoredWebhook(stored, position, namesakes);
  });
}

/** A policy as it was read together with its bindings. */
interface ReadPolicy {
  readonly bindings: readonly StoredObject[];
  readonly policies: readonly Policy[];
}

/** The policies that have bindings, each read again when it or one of its bindings has changed. */
export class PolicyReader {
  readonly #known = new WeakMap<StoredObject, ReadPolicy>();
  readonly #policyNames = new WeakMap<StoredObject, string>();

  /** In the order of the given policies. */
  policiesOf(policies: readonly StoredObject[], bindings: readonly StoredObject[]): Policy[] {
    const byPolicy = Map.groupBy(bindings, (binding) => this.#policyName(binding));
    return policies.flatMap((policy) => {
      const own = byPolicy.get(nameOf(policy));
      return own === undefined ? [] : this.#read(policy, own);
    });
  }

  #read(policy: StoredObject, bindings: readonly StoredObject[]): readonly Policy[] {
    const known = this.#known.get(policy);
    if (known !== undefined && areSame(known.bindings, bindings)) return known.policies;
    const read = policiesOf(
      [policy.value],
      bindings.map(({ value }) => value),
    );
    this.#known.set(policy, { bindings, policies: read });
    return read;
  }

  #policyName(binding: StoredObject): string {
    const name = this.#policyNames.get(binding) ?? stringAt(binding.value, ["spec", "policyName"]);
    this.#policyNames.set(binding, name);
    return name;
  }
}

/** The end of the key: most policies need not be decoded for their names. */
const nameOf = ({ key }: StoredObject): string => key.slice(key.lastIndexOf("/") + 1);

function areSame(a: readonly StoredObject[], b: readonly StoredObject[]): boolean {
  return a.length === b.length && a.every((one, index) => one === b[index]);
}
