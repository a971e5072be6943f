// SPDX-License-Identifier: Apache-2.0
import type { ClusterPackageOptions, PackageRuntimeMode } from "@purlin/control-plane";
import { UserError } from "../user-error.ts";

/** What runs the packages of each kind that has a runtime. */
export type PackageRuntimes = NonNullable<ClusterPackageOptions["runtimes"]>;

const modes: readonly string[] = ["Deployment", "External"] satisfies PackageRuntimeMode[];
const kinds: readonly string[] = ["Function", "Provider"];
/** Nothing of a Configuration runs; Crossplane takes a mode for it all the same. */
const ignoredKind = "Configuration";
const expected = "Deployment, External, or one of them for a kind, such as Provider=Deployment;Function=External";

/** Reads --package-runtime: one mode for all kinds, or a mode for each kind that is named; the others run in Deployments. */
export function parsePackageRuntime(text: string): PackageRuntimes {
  if (isMode(text)) return { Function: text, Provider: text };
  const runtimes: Record<keyof PackageRuntimes, PackageRuntimeMode> = {
    Function: "Deployment",
    Provider: "Deployment",
  };
  const seen = new Set<string>();
  for (const part of text.split(";")) {
    const [kind = "", mode = "", ...rest] = part.split("=");
    if (!isMode(mode) || rest.length > 0 || !(isKind(kind) || kind === ignoredKind)) throw wrong(`not "${part}"`);
    if (seen.has(kind)) throw wrong(`and ${kind} is named twice in "${text}"`);
    seen.add(kind);
    if (isKind(kind)) runtimes[kind] = mode;
  }
  return runtimes;
}

function isMode(text: string): text is PackageRuntimeMode {
  return modes.includes(text);
}

function isKind(text: string): text is keyof PackageRuntimes {
  return kinds.includes(text);
}

function wrong(problem: string): UserError {
  return new UserError(`--package-runtime: expected ${expected}; ${problem}`, { exitCode: 2 });
}
