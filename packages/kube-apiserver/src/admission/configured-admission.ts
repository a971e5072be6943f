// SPDX-License-Identifier: Apache-2.0
// Admission by what is configured in the store: policies and webhooks.

import { type AwaitingWork, awaited } from "@purlin/base";
import { isJsonObject, type JsonObject, jsonEqual } from "@purlin/kube-objects/json";
import type { Catalog, ResourceType } from "../registry/registry.ts";
import type { Entry, Watch } from "../store/store.ts";
import type { AdmissionAttributes, AdmissionWrite, ConfiguredAdmission, ConfiguredSteps } from "./admission.ts";
import { isPolicyType, isWebhookConfiguration, typeMatcher } from "./admission-webhook.ts";
import {
  PolicyReader,
  SelectedStoredWebhook,
  type StoredWebhook,
  WebhookReader,
} from "./configured-admission-objects.ts";
import { type MutatingPolicyDeps, mutateByPolicies } from "./mutating-policies.ts";
import type { Policy } from "./policy.ts";
import { evaluatePolicies, type SelectedPolicy } from "./validating-policies.ts";
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
interface ConfiguredDeps extends DispatchDeps, MutatingPolicyDeps {
  readonly catalog: () => Catalog;
  /** Whether the objects that every cluster has exist. Before, nothing is called: a webhook could keep the server from starting. */
  readonly isStarted: () => boolean;
  /** Names of the admission plugins that run. */
  readonly plugins: readonly string[];
}

/** Admission by the policies and webhooks whose configurations are in the store. Changes take effect at once. */
export class StoredAdmission implements ConfiguredAdmission {
  readonly #deps: ConfiguredDeps;
  #watch: Watch<JsonObject> | undefined;
  #isStale = true;
  #wasStarted = false;
  #catalog = 0;
  #generation = 1;
  readonly #webhookReader = new WebhookReader();
  readonly #policyReader = new PolicyReader();
  #mutating: readonly StoredWebhook[] = [];
  #validating: readonly StoredWebhook[] = [];
  #policies: readonly Policy[] = [];
  #mutatingPolicies: readonly Policy[] = [];

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
    if (isPolicyType(write.type)) return undefined;
    const mutating = this.#selected(this.#mutating, write);
    const validating = this.#selected(this.#validating, write);
    const policies = this.#selectedPolicies(this.#policies, write);
    const mutatingPolicies = write.operation === "DELETE" ? [] : this.#selectedPolicies(this.#mutatingPolicies, write);
    const steps = { mutating, validating, policies, mutatingPolicies };
    return Object.values(steps).every(({ length }) => length === 0)
      ? undefined
      : new ConfiguredWrite({ ...steps, deps: this.#deps });
  }

  close(): void {
    this.#watch?.close();
    this.#deps.client.close();
  }

  #selected(hooks: readonly StoredWebhook[], write: AdmissionWrite): SelectedWebhook[] {
    if (isWebhookConfiguration(write.type)) return [];
    const typeOf = typeMatcher(write, this.#deps.catalog());
    const selected: SelectedWebhook[] = [];
    for (const [index, hook] of hooks.entries()) {
      const type = typeOf(hook.match);
      if (type !== undefined) selected.push(new SelectedStoredWebhook(hook, type, index));
    }
    return selected;
  }

  #selectedPolicies(policies: readonly Policy[], write: AdmissionWrite): SelectedPolicy[] {
    if (isReview(write.type)) return [];
    const typeOf = typeMatcher(write, this.#deps.catalog());
    return policies.flatMap((policy) => {
      const type = typeOf(policy.match);
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
    this.#watch.take();
    this.#generation += 1;
    const runs = (plugin: string): boolean => isStarted && this.#deps.plugins.includes(plugin);
    this.#mutating = runs("MutatingAdmissionWebhook") ? this.#webhooks("mutatingwebhookconfigurations") : [];
    this.#validating = runs("ValidatingAdmissionWebhook") ? this.#webhooks("validatingwebhookconfigurations") : [];
    this.#policies = runs("ValidatingAdmissionPolicy") ? this.#policiesOf("validatingadmissionpolic") : [];
    this.#mutatingPolicies = runs("MutatingAdmissionPolicy") ? this.#policiesOf("mutatingadmissionpolic") : [];
    // Not before: what could be read in part only is read again.
    this.#isStale = false;
  }

  #policiesOf(resource: string): Policy[] {
    return this.#policyReader.policiesOf(this.#stored(`${resource}ies`), this.#stored(`${resource}ybindings`));
  }

  #webhooks(resource: string): readonly StoredWebhook[] {
    return this.#webhookReader.webhooksOf(this.#stored(resource));
  }

  /** The objects of a resource of the group, by name. */
  #stored(resource: string): readonly Entry<JsonObject>[] {
    return this.#deps.store.list({ prefix: `${prefix}${resource}/` }).entries;
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
  readonly mutatingPolicies: readonly SelectedPolicy[];
  readonly deps: DispatchDeps & MutatingPolicyDeps;
}

type NewObject = AdmissionAttributes & { readonly object: JsonObject };

class ConfiguredWrite implements ConfiguredSteps {
  readonly #hooks: Hooks;

  constructor(hooks: Hooks) {
    this.#hooks = hooks;
  }

  *mutating(attributes: NewObject, runPlugins: (object: JsonObject) => JsonObject): AwaitingWork<JsonObject> {
    const { mutating, mutatingPolicies } = this.#hooks;
    if (mutating.length === 0 && mutatingPolicies.length === 0) return attributes.object;
    const ofPolicies: Reinvocation = { invoked: new Set(), due: new Set() };
    const ofHooks: Reinvocation = { invoked: new Set(), due: new Set() };
    const byPolicies = yield* this.#policyRound(attributes, ofPolicies, false);
    const first = yield* this.#hookRound({ ...attributes, object: byPolicies }, ofHooks, false);
    if (first === attributes.object) return first;
    const again = runPlugins(first);
    if (hasChanged(byPolicies, again)) requireReinvocation(ofPolicies);
    const second = yield* this.#policyRound({ ...attributes, object: again }, ofPolicies, true);
    if (hasChanged(first, second)) requireReinvocation(ofHooks);
    return yield* this.#hookRound({ ...attributes, object: second }, ofHooks, true);
  }

  *#policyRound(attributes: NewObject, reinvocation: Reinvocation, isSecond: boolean): AwaitingWork<JsonObject> {
    const { mutatingPolicies, deps } = this.#hooks;
    if (mutatingPolicies.length === 0) return attributes.object;
    return yield* mutateByPolicies(mutatingPolicies, attributes, { deps, reinvocation, isSecond });
  }

  *#hookRound(attributes: NewObject, reinvocation: Reinvocation, isSecond: boolean): AwaitingWork<JsonObject> {
    const { mutating, deps } = this.#hooks;
    if (mutating.length === 0) return attributes.object;
    const object = yield* awaited(callMutating(mutating, attributes, { deps, reinvocation, isSecond }));
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

function hasChanged(before: JsonObject, after: JsonObject): boolean {
  return before !== after && !jsonEqual(before, after);
}
