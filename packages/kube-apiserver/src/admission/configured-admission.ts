// SPDX-License-Identifier: Apache-2.0
// Admission by what is configured in the store: policies and webhooks.

import { type AwaitingWork, awaited } from "@purlin/base";
import { compareUtf8, isJsonObject, type JsonObject, jsonEqual } from "@purlin/kube-objects/json";
import { metaOf } from "../objects/object-meta.ts";
import type { Catalog } from "../registry/registry.ts";
import type { ResourceType } from "../registry/resource-type.ts";
import type { Watch } from "../store/store.ts";
import type { AdmissionAttributes, AdmissionWrite } from "./admission.ts";
import { type AdmissionWebhook, webhooksOf } from "./admission-webhook.ts";
import { isAdmissionConfiguration, matchedType } from "./match-resource.ts";
import type { ConfiguredAdmission, ConfiguredSteps } from "./plugin-chain.ts";
import { type Policy, policiesOf } from "./policy.ts";
import { evaluatePolicies, type PolicyDeps, type SelectedPolicy } from "./validating-policies.ts";
import {
  callMutating,
  callValidating,
  type DispatchDeps,
  type Reinvocation,
  requireReinvocation,
  type SelectedWebhook,
} from "./webhook-dispatch.ts";

const prefix = "/admissionregistration.k8s.io/";

/** What configured admission depends on. */
interface ConfiguredDeps extends DispatchDeps, PolicyDeps {
  readonly catalog: () => Catalog;
  /** Whether the objects that every cluster has exist. Before, nothing is called: a webhook could keep the server from starting. */
  readonly isStarted: () => boolean;
}

/** Admission by the policies and webhooks whose configurations are in the store. Changes take effect at once. */
export class StoredAdmission implements ConfiguredAdmission {
  readonly #deps: ConfiguredDeps;
  #watch: Watch<JsonObject> | undefined;
  #isStale = true;
  #wasStarted = false;
  #catalog = 0;
  #generation = 1;
  #mutating: readonly AdmissionWebhook[] = [];
  #validating: readonly AdmissionWebhook[] = [];
  #policies: readonly Policy[] = [];

  constructor(deps: ConfiguredDeps) {
    this.#deps = deps;
  }

  get generation(): number {
    const isStarted = this.#deps.isStarted();
    const { generation } = this.#deps.catalog();
    if (this.#isStale || isStarted !== this.#wasStarted) this.#read(isStarted);
    if (generation !== this.#catalog) {
      this.#catalog = generation;
      this.#generation += 1;
    }
    return this.#generation;
  }

  find(write: AdmissionWrite): ConfiguredSteps | undefined {
    if (isAdmissionConfiguration(write.type)) return undefined;
    const mutating = this.#selected(this.#mutating, write);
    const validating = this.#selected(this.#validating, write);
    const policies = isReview(write.type) ? [] : this.#selectedPolicies(write);
    if (mutating.length === 0 && validating.length === 0 && policies.length === 0) return undefined;
    return new WebhookSteps({ mutating, validating, policies, deps: this.#deps });
  }

  close(): void {
    this.#watch?.close();
    this.#deps.client.close();
  }

  #selected(hooks: readonly AdmissionWebhook[], write: AdmissionWrite): SelectedWebhook[] {
    return hooks.flatMap((hook) => {
      const type = matchedType(hook, write, this.#deps.catalog());
      return type === undefined ? [] : [{ hook, type }];
    });
  }

  #selectedPolicies(write: AdmissionWrite): SelectedPolicy[] {
    return this.#policies.flatMap((policy) => {
      const type = matchedType(policy.match, write, this.#deps.catalog());
      return type === undefined ? [] : [{ policy, type }];
    });
  }

  /** Reads the configurations, and again when one has changed. */
  #read(isStarted: boolean): void {
    const { store } = this.#deps;
    this.#wasStarted = isStarted;
    this.#watch?.close();
    this.#watch = store.watch({
      scope: prefix,
      after: store.revision,
      onReady: () => {
        this.#isStale = true;
      },
    });
    this.#isStale = false;
    this.#watch.take();
    this.#generation += 1;
    this.#mutating = isStarted ? this.#webhooks("mutatingwebhookconfigurations") : [];
    this.#validating = isStarted ? this.#webhooks("validatingwebhookconfigurations") : [];
    this.#policies = isStarted
      ? policiesOf(this.#objects("validatingadmissionpolicies"), this.#objects("validatingadmissionpolicybindings"))
      : [];
  }

  #webhooks(resource: string): AdmissionWebhook[] {
    return this.#objects(resource).flatMap(webhooksOf);
  }

  /** The objects of a resource of the group, by name. */
  #objects(resource: string): JsonObject[] {
    return this.#deps.store
      .list({ prefix: `${prefix}${resource}/` })
      .entries.map(({ value }) => value)
      .sort((a, b) => compareUtf8(metaOf(a).name ?? "", metaOf(b).name ?? ""));
  }
}

const reviewGroups: ReadonlySet<string> = new Set(["authentication.k8s.io", "authorization.k8s.io"]);

/** Whether a type is a review, which no policy sees. */
function isReview({ group }: ResourceType): boolean {
  return reviewGroups.has(group);
}

interface Hooks {
  readonly mutating: readonly SelectedWebhook[];
  readonly validating: readonly SelectedWebhook[];
  readonly policies: readonly SelectedPolicy[];
  readonly deps: DispatchDeps & PolicyDeps;
}

type NewObject = AdmissionAttributes & { readonly object: JsonObject };

class WebhookSteps implements ConfiguredSteps {
  readonly #hooks: Hooks;

  constructor(hooks: Hooks) {
    this.#hooks = hooks;
  }

  *mutating(attributes: NewObject, runPlugins: (object: JsonObject) => JsonObject): AwaitingWork<JsonObject> {
    const { mutating, deps } = this.#hooks;
    if (mutating.length === 0) return attributes.object;
    const reinvocation: Reinvocation = { invoked: new Set(), due: new Set() };
    const round = { deps, reinvocation };
    const first = yield* this.#round(attributes, { ...round, isSecond: false });
    if (first === attributes.object) return first;
    const again = runPlugins(first);
    if (again !== first && !jsonEqual(again, first)) requireReinvocation(reinvocation);
    return yield* this.#round({ ...attributes, object: again }, { ...round, isSecond: true });
  }

  *#round(attributes: NewObject, round: Parameters<typeof callMutating>[2]): AwaitingWork<JsonObject> {
    const object = yield* awaited(callMutating(this.#hooks.mutating, attributes, round));
    return isJsonObject(object) ? object : attributes.object;
  }

  *validating(attributes: AdmissionAttributes): AwaitingWork<void> {
    const { validating, policies, deps } = this.#hooks;
    if (policies.length > 0) yield* evaluatePolicies(policies, attributes, deps);
    if (validating.length > 0) yield* awaited(callValidating(validating, attributes, deps));
  }

  *deleting(attributes: AdmissionAttributes): AwaitingWork<void> {
    const { mutating, deps } = this.#hooks;
    const reinvocation: Reinvocation = { invoked: new Set(), due: new Set() };
    if (mutating.length === 0) return;
    yield* awaited(callMutating(mutating, attributes, { deps, reinvocation, isSecond: false }));
  }
}
