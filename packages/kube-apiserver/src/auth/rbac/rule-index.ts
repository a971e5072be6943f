// SPDX-License-Identifier: Apache-2.0
// A role can have as many rules, and a rule as many words, as a request has room for. A right is found without a look at each of them.
import { isPartDone, type Work } from "@purlin/base";
import type { AccessAttributes, PolicyRule } from "../authorizer.ts";

/** One verb on one resource or path. */
export type Right = ResourceRight | PathRight;

interface ResourceRight {
  readonly verb: string;
  readonly group: string;
  /** With the subresource after a slash. */
  readonly resource: string;
  /** Undefined for the right on objects of every name. */
  readonly name: string | undefined;
}

interface PathRight {
  readonly verb: string;
  readonly path: string;
}

/** A right, with the keys under which an index may have it. Made once, for a look into many indexes. */
type Sought = SoughtPath | SoughtResource;

interface SoughtPath {
  readonly right: PathRight;
}

interface SoughtResource {
  readonly right: ResourceRight;
  /** The words by which a rule names the resource. */
  readonly resources: readonly string[];
  readonly keys: readonly string[];
}

/** A right as it is sought in rules. */
export function sought(right: Right): Sought {
  if ("path" in right) return { right };
  const slash = right.resource.indexOf("/");
  const ofEvery = slash < 0 ? [] : [`*${right.resource.slice(slash)}`];
  return soughtResource(right, [right.resource, "*", ...ofEvery]);
}

/** What a user wants to do as a right that is sought. */
export function soughtAccess(access: AccessAttributes): Sought {
  if (access.kind === "path") return { right: { verb: access.verb, path: access.path } };
  const { verb, group, resource: own, subresource, name } = access;
  const resource = subresource === "" ? own : `${own}/${subresource}`;
  const words = subresource === "" ? [resource, "*"] : [resource, "*", `*/${subresource}`];
  return soughtResource({ verb, group, resource, name }, words);
}

function soughtResource(right: ResourceRight, resources: readonly string[]): SoughtResource {
  const keys: string[] = [];
  for (const verb of [right.verb, "*"]) {
    for (const group of [right.group, "*"]) {
      for (const resource of resources) keys.push(keyOf(verb, group, resource));
    }
  }
  return { right, resources, keys };
}

/** Words may contain any character, so a plain join is ambiguous. */
function keyOf(verb: string, group: string, resource: string): string {
  return `${verb.length} ${group.length} ${verb}${group}${resource}`;
}

/** Names of objects, or all of them. */
type Names = Set<string> | "all";

/** The rules of a role. `indexing` makes one. */
export class RuleIndex {
  readonly rules: readonly PolicyRule[];
  readonly #names = new Map<string, Names>();
  /** By verb. */
  readonly #paths = new Map<string, PathSet>();
  /** Rules whose words have too many combinations for the maps. */
  readonly #wide: WideRule[] = [];
  #steps = 10;

  private constructor(rules: readonly PolicyRule[]) {
    this.rules = rules;
  }

  static *indexing(rules: readonly PolicyRule[]): Work<RuleIndex> {
    const index = new RuleIndex(rules);
    for (const rule of rules) {
      if (isWide(rule)) index.#wide.push(new WideRule(rule));
      else yield* index.#adding(rule);
      if (isPartDone()) yield;
    }
    for (const { steps } of [...index.#wide, ...index.#paths.values()]) index.#steps += steps;
    return index;
  }

  /** How many steps {@link has} takes at most, roughly. */
  get steps(): number {
    return this.#steps;
  }

  /** Whether one of the rules includes the right. */
  has(wanted: Sought): boolean {
    const isKnown = "keys" in wanted ? this.#hasResource(wanted) : this.#hasPath(wanted.right);
    return isKnown || this.#wide.some((rule) => rule.has(wanted));
  }

  #hasResource({ keys, right: { name } }: SoughtResource): boolean {
    if (this.#names.size === 0) return false;
    return keys.some((key) => {
      const names = this.#names.get(key);
      return names === "all" || (names !== undefined && name !== undefined && names.has(name));
    });
  }

  #hasPath({ verb, path }: PathRight): boolean {
    return [verb, "*"].some((one) => this.#paths.get(one)?.covers(path) === true);
  }

  *#adding(rule: PolicyRule): Work<void> {
    for (const verb of rule.verbs) {
      for (const group of rule.apiGroups) {
        for (const resource of rule.resources) {
          this.#addNames(keyOf(verb, group, resource), rule.resourceNames);
          if (isPartDone()) yield;
        }
      }
      for (const url of rule.nonResourceURLs) {
        this.#pathsOf(verb).add(url);
        if (isPartDone()) yield;
      }
    }
  }

  #addNames(key: string, names: readonly string[]): void {
    const known = this.#names.get(key);
    if (known === "all") return;
    if (names.length === 0) this.#names.set(key, "all");
    else if (known === undefined) this.#names.set(key, new Set(names));
    else for (const name of names) known.add(name);
  }

  #pathsOf(verb: string): PathSet {
    const known = this.#paths.get(verb);
    if (known !== undefined) return known;
    const made = new PathSet();
    this.#paths.set(verb, made);
    return made;
  }
}

/** Most entries of the maps for each word of a rule. */
const entriesOfWord = 4;

function isWide({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): boolean {
  const ofResources = apiGroups.length * resources.length * Math.max(resourceNames.length, 1);
  const words = verbs.length + apiGroups.length + resources.length + resourceNames.length + nonResourceURLs.length;
  return verbs.length * (ofResources + nonResourceURLs.length) > entriesOfWord * words;
}

/** A rule with its words as sets. */
class WideRule {
  readonly #verbs: ReadonlySet<string>;
  readonly #groups: ReadonlySet<string>;
  readonly #resources: ReadonlySet<string>;
  readonly #names: ReadonlySet<string>;
  readonly #paths = new PathSet();

  constructor(rule: PolicyRule) {
    this.#verbs = new Set(rule.verbs);
    this.#groups = new Set(rule.apiGroups);
    this.#resources = new Set(rule.resources);
    this.#names = new Set(rule.resourceNames);
    for (const url of rule.nonResourceURLs) this.#paths.add(url);
  }

  get steps(): number {
    return 1 + this.#paths.steps;
  }

  has(wanted: Sought): boolean {
    if (!hasWord(this.#verbs, wanted.right.verb)) return false;
    if (!("keys" in wanted)) return this.#paths.covers(wanted.right.path);
    const { group, name } = wanted.right;
    return (
      hasWord(this.#groups, group) &&
      wanted.resources.some((resource) => this.#resources.has(resource)) &&
      (this.#names.size === 0 || (name !== undefined && this.#names.has(name)))
    );
  }
}

/** Whether the set contains the word, or the star that stands for every word. */
function hasWord(words: ReadonlySet<string>, word: string): boolean {
  return words.has("*") || words.has(word);
}

/** URLs of rules. One that ends with a star covers every path, and every such URL, that begins like it. */
class PathSet {
  readonly #exact = new Set<string>();
  readonly #prefixes = new Set<string>();
  readonly #prefixLengths = new Set<number>();

  add(url: string): void {
    if (!url.endsWith("*")) {
      this.#exact.add(url);
      return;
    }
    let end = url.length;
    while (url[end - 1] === "*") end -= 1;
    this.#prefixes.add(url.slice(0, end));
    this.#prefixLengths.add(end);
  }

  /** One for each length: {@link covers} looks for all of them. */
  get steps(): number {
    return this.#prefixLengths.size;
  }

  covers(path: string): boolean {
    if (this.#exact.has(path)) return true;
    for (const length of this.#prefixLengths) {
      if (length <= path.length && this.#prefixes.has(path.slice(0, length))) return true;
    }
    return false;
  }
}
