// SPDX-License-Identifier: Apache-2.0
import { inTurns, memoize, type Work } from "@purlin/base";
import type { CacheChange } from "@purlin/kube-client";
import {
  type ControllerClient,
  defineController,
  type ReconcileContext,
  ReconcileError,
  type ReconcileResult,
  type WatchingController,
  withConditionTexts,
} from "@purlin/kube-controller";
import { isNotFound, textOf } from "@purlin/kube-objects/errors";
import {
  type ConditionText,
  conditionOf,
  conditionsOf,
  isDeleted,
  type KubeObject,
  type ObjectKey,
  textsAt,
  withMember,
} from "@purlin/kube-objects/object";
import { fieldManagers } from "../composite-resource/constants.ts";
import { isActive, type ManagedDeps, managedDefinitionType, reportPause } from "./definition-controller.ts";

/** The type of ManagedResourceActivationPolicies. */
export const activationPolicyType = {
  apiVersion: "apiextensions.crossplane.io/v1alpha1",
  kind: "ManagedResourceActivationPolicy",
} as const;

interface ActivationDeps extends ManagedDeps {
  /** The policies in the cache, to find those that a changed definition concerns. */
  readonly cachedPolicies: () => readonly KubeObject[];
}

interface ActivationContext extends ReconcileContext, Pick<ManagedDeps, "client" | "clock"> {}

const timeoutMs = 120_000;
const namesShown = 2;
/** Patterns that a message quotes, and the characters of each. */
const quoted = { patterns: 5, characters: 100 };
/** Most patterns of one policy that count, and most characters that those with wildcards have together: the time of a match grows with them. */
const maxPatterns = 10_000;
const maxWildcards = 10_000;
/** With more of them in all policies, a changed definition wakes every policy instead of being matched in the handler of a watch. */
const maxMatchedAtOnce = 20_000;

/** The controller that activates the definitions that the patterns of a policy match. Nothing deactivates them. */
export function createActivationController(deps: ActivationDeps): WatchingController {
  const { client, events, clock, log, cachedPolicies } = deps;
  return defineController<ActivationContext>({
    client,
    events,
    clock,
    log,
    name: "mrap/managedresourceactivationpolicy",
    type: activationPolicyType,
    timeoutMs,
    watches: [
      {
        type: "ManagedResourceActivationPolicy",
        object: activationPolicyType,
        keys: ({ object }) => [{ name: object.metadata.name ?? "" }],
      },
      {
        type: "ManagedResourceDefinition",
        object: managedDefinitionType,
        keys: (change) => policiesOf(change, cachedPolicies()),
      },
    ],
    extend: (context) => ({ ...context, client, clock }),
    onPause: async (context) => reportPause(context),
    reconcile: reconcilePolicy,
  });
}

/** The policies whose patterns match a definition that is new, gone, or differs in what policies look at. */
function policiesOf(change: CacheChange, policies: readonly KubeObject[]): ObjectKey[] {
  const { object } = change;
  if (change.type === "updated" && standing(change.previous) === standing(object)) return [];
  const { name = "" } = object.metadata;
  const isCheap = policies.reduce((sum, policy) => sum + patternsOf(policy).cost, 0) <= maxMatchedAtOnce;
  return policies
    .filter((policy) => !isCheap || patternsOf(policy).matches(name))
    .map(({ metadata }) => ({ name: metadata.name ?? "" }));
}

function standing(mrd: KubeObject): string {
  return `${isActive(mrd)} ${establishedOf(mrd)}`;
}

function establishedOf(mrd: KubeObject): boolean {
  return conditionOf(conditionsOf(mrd), "Established").status === "True";
}

/** The patterns of a policy. */
interface Patterns {
  matches(name: string): boolean;
  readonly malformed: readonly string[];
  /** How many patterns do not count because there are too many. */
  readonly ignored: number;
  /** Characters to be compared with each name. */
  readonly cost: number;
}

const patternsOf = memoize((policy: KubeObject): Patterns => {
  const patterns = textsAt(policy, ["spec", "activate"]);
  const [names, globs, malformed]: [Set<string>, Glob[], string[]] = [new Set(), [], []];
  let [ignored, cost] = [Math.max(0, patterns.length - maxPatterns), 0];
  for (const pattern of new Set(patterns.slice(0, maxPatterns))) {
    if (!/[*?[\\]/.test(pattern)) names.add(pattern);
    else if (cost + pattern.length > maxWildcards) ignored++;
    else {
      const glob = parseGlob(pattern);
      if (glob === undefined) malformed.push(pattern);
      else globs.push(glob);
      cost += pattern.length;
    }
  }
  return { matches: (name) => names.has(name) || globs.some((glob) => glob.matches(name)), malformed, ignored, cost };
});

/** The definitions that a policy activates, by name. */
function* matching({ matches }: Patterns, definitions: readonly KubeObject[]): Work<KubeObject[]> {
  const found: KubeObject[] = [];
  for (const definition of definitions) {
    if (matches(definition.metadata.name ?? "")) found.push(definition);
    yield;
  }
  return found.sort((a, b) => ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1));
}

async function reconcilePolicy(context: ActivationContext): Promise<ReconcileResult> {
  const policy = context.stored.object;
  if (isDeleted(policy)) {
    const text = {
      type: "Established",
      status: "False",
      reason: "TerminatingManagedResourceActivationPolicy",
    } as const;
    await context.writeStatus(withConditionTexts(policy, [text], context.clock));
    return {};
  }
  const patterns = patternsOf(policy);
  const matched = await inTurns(matching(patterns, await listDefinitions(context)));
  const { active, failed } = await activate(context, matched);
  const activated = active.map(({ metadata }) => metadata.name ?? "");
  const texts = [healthOf(patterns, { failed, matched: matched.length }), establishment(active)];
  const after = withMember(policy, ["status", "activated"], activated.length > 0 ? activated : undefined);
  await context.writeStatus(withConditionTexts(after, texts, context.clock));
  return failed.length > 0 ? { requeue: true } : {};
}

async function listDefinitions(context: ActivationContext): Promise<readonly KubeObject[]> {
  const { client, signal } = context;
  try {
    return await client.list(managedDefinitionType, { signal });
  } catch (error) {
    const message = "cannot list ManagedResourceDefinition";
    const reason = "BlockedManagedResourceActivationPolicy";
    const text = { type: "Established", status: "False", reason, message } as const;
    await context.writeStatus(withConditionTexts(context.stored.object, [text], context.clock));
    throw new ReconcileError("Reconcile", `${message}: ${textOf(error)}`, error);
  }
}

interface Activation {
  /** The definitions that are active now. */
  readonly active: readonly KubeObject[];
  /** The names of those that could not be activated. */
  readonly failed: readonly string[];
}

async function activate(context: ActivationContext, matched: readonly KubeObject[]): Promise<Activation> {
  const { client, emit, signal } = context;
  const reason = "ActivateManagedResourceDefinition";
  const active: KubeObject[] = [];
  const failed: string[] = [];
  for (const mrd of matched) {
    if (isActive(mrd)) {
      active.push(mrd);
      continue;
    }
    const name = mrd.metadata.name ?? "";
    try {
      active.push(await setActive(client, name, signal));
      emit({ reason, message: "Successfully activated ManagedResourceDefinition" });
    } catch (error) {
      if (signal.aborted) throw error;
      if (isNotFound(error)) continue;
      failed.push(name);
      emit({ type: "Warning", reason, message: `cannot activate ManagedResourceDefinition ${name}: ${textOf(error)}` });
    }
  }
  return { active, failed };
}

function setActive(client: ControllerClient, name: string, signal: AbortSignal): Promise<KubeObject> {
  const options = { type: "merge", fieldManager: fieldManagers.update, signal } as const;
  return client.patch({ ...managedDefinitionType, name }, { spec: { state: "Active" } }, options);
}

interface Attempts {
  /** The names of definitions that could not be activated. */
  readonly failed: readonly string[];
  readonly matched: number;
}

function healthOf({ malformed, ignored }: Patterns, { failed, matched }: Attempts): ConditionText {
  const problems = malformed
    .slice(0, quoted.patterns)
    .map((pattern) => `pattern ${JSON.stringify(pattern.slice(0, quoted.characters))} is malformed`);
  if (malformed.length > quoted.patterns) {
    problems.push(`${malformed.length - quoted.patterns} more patterns are malformed`);
  }
  if (ignored > 0) {
    const limit = `a policy has at most ${maxPatterns} patterns, and those with wildcards ${maxWildcards} characters together`;
    problems.push(`${ignored} patterns are ignored: ${limit}`);
  }
  if (failed.length > 0) {
    const count = `failed to activate ${failed.length} of ${matched} ManagedResourceDefinitions`;
    problems.unshift(`${count}, including ${failed[0]}`);
  }
  if (problems.length === 0) return { type: "Healthy", status: "True", reason: "Running" };
  return { type: "Healthy", status: "Unknown", reason: "EncounteredErrors", message: problems.join("; ") };
}

/** Whether every activated kind is served, so that objects of it can be created. */
function establishment(active: readonly KubeObject[]): ConditionText {
  const pending = active.filter((mrd) => !establishedOf(mrd)).map(({ metadata }) => metadata.name ?? "");
  if (pending.length === 0) return { type: "Established", status: "True", reason: "EstablishedManagedResources" };
  const more = pending.length - namesShown;
  const names = [...pending.slice(0, namesShown), ...(more > 0 ? [`and ${more} more`] : [])].join(", ");
  return {
    type: "Established",
    status: "Unknown",
    reason: "PendingManagedResources",
    message: `waiting for ${names}`,
  };
}

// Shell globs over names, in the dialect of Go's path.Match without its separators: a star also matches dots and slashes.

type Token =
  | { readonly kind: "star" }
  | { readonly kind: "any" }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "class"; readonly negated: boolean; readonly ranges: readonly (readonly [string, string])[] };

/** A compiled pattern. */
interface Glob {
  matches(name: string): boolean;
}

/** Compiles a pattern: `*`, `?`, `[a-z]`, `[^a-z]` and `\x`. Undefined when it is malformed. */
export function parseGlob(pattern: string): Glob | undefined {
  const tokens = tokensOf([...pattern]);
  return tokens && { matches: (name) => matchTokens(tokens, [...name]) };
}

function tokensOf(chars: readonly string[]): readonly Token[] | undefined {
  const tokens: Token[] = [];
  let at = 0;
  while (at < chars.length) {
    const char = chars[at++] ?? "";
    if (char === "*") tokens.push({ kind: "star" });
    else if (char === "?") tokens.push({ kind: "any" });
    else if (char === "[") {
      const parsed = classOf(chars, at);
      if (parsed === undefined) return undefined;
      tokens.push(parsed.token);
      at = parsed.end;
    } else {
      const text = char === "\\" ? chars[at++] : char;
      if (text === undefined) return undefined;
      tokens.push({ kind: "text", text });
    }
  }
  return tokens;
}

/** Reads a character class after its opening bracket. */
function classOf(chars: readonly string[], start: number): { readonly token: Token; readonly end: number } | undefined {
  let at = start;
  const negated = chars[at] === "^";
  if (negated) at++;
  const ranges: [string, string][] = [];
  const character = (): string | undefined => {
    const char = chars[at++];
    if (char === "-" || char === "]" || char === undefined) return undefined;
    return char === "\\" ? chars[at++] : char;
  };
  while (chars[at] !== "]" || ranges.length === 0) {
    const low = character();
    if (low === undefined) return undefined;
    let high: string | undefined = low;
    if (chars[at] === "-") {
      at++;
      high = character();
    }
    if (high === undefined) return undefined;
    ranges.push([low, high]);
  }
  return { token: { kind: "class", negated, ranges }, end: at + 1 };
}

/** Goes back to the last star only, so the time is at most the product of both lengths. */
function matchTokens(tokens: readonly Token[], chars: readonly string[]): boolean {
  let [token, char] = [0, 0];
  let [star, resume] = [-1, 0];
  while (char < chars.length) {
    const current = tokens[token];
    if (current?.kind === "star") {
      star = token++;
      resume = char;
    } else if (current !== undefined && matchOne(current, chars[char] ?? "")) {
      token++;
      char++;
    } else if (star >= 0) {
      token = star + 1;
      char = ++resume;
    } else return false;
  }
  return tokens.slice(token).every(({ kind }) => kind === "star");
}

function matchOne(token: Exclude<Token, { kind: "star" }>, char: string): boolean {
  if (token.kind === "any") return true;
  if (token.kind === "text") return token.text === char;
  return token.ranges.some(([low, high]) => low <= char && char <= high) !== token.negated;
}
