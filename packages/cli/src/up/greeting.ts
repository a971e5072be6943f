// SPDX-License-Identifier: Apache-2.0
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import type { SandboxSupport } from "@purlin/function-process";
import { kubeconfigVariable } from "../cluster/cluster-client.ts";
import { commandName } from "../command-name.ts";
import { terminalText } from "../help/help-text.ts";
import type { Io } from "../io.ts";
import type { Style } from "../terminal/style.ts";

/** A file beside manifests that says what to try once they are ready. */
const nextFile = "NEXT.md";

/** Where the control plane is and how to reach it. */
export function greeting(
  { url, kubeconfig }: { readonly url: string; readonly kubeconfig: string },
  style: Style,
  io: Io,
): string {
  const shown = shortest(io.cwd, kubeconfig);
  return `${style.good("✓")} control plane at ${style.strong(url)} ${style.faint(`(kubeconfig ${shown})`)}`;
}

/** Says that functions of packages see this machine; undefined where they do not. */
export function sandboxWarning(sandbox: SandboxSupport, style: Style): string | undefined {
  if (sandbox.isSupported) return undefined;
  const where = sandbox.network === undefined ? " they share this machine's network;" : "";
  const advice = "install bubblewrap to isolate them";
  return `${style.doubtful("!")} functions of packages run without a sandbox: ${sandbox.reason};${where} ${advice}`;
}

/** Says that other commands, which prefer $KUBECONFIG, will not reach this control plane; undefined where they will. */
export function kubeconfigWarning(kubeconfig: string, style: Style, io: Io): string | undefined {
  const [first] = kubeconfigVariable(io) ?? [];
  if (first === undefined || first === resolve(kubeconfig)) return undefined;
  const advice = `run "unset KUBECONFIG" there, or add --data-dir ${shortest(io.cwd, dirname(kubeconfig))}`;
  return `${style.doubtful("!")} $KUBECONFIG is set: other commands use it instead of this control plane; ${advice}`;
}

/** What to do once everything is ready: what the manifests' authors suggest, else what is always possible. */
export function nextSteps(paths: readonly string[], io: Io): string {
  const files = paths.map((path) => resolve(io.cwd, path, nextFile)).filter((file) => existsSync(file));
  if (files.length > 0)
    return files.map((file) => terminalText(readFileSync(file, "utf8"), io.stdout.columns)).join("\n\n");
  const purlin = commandName(io.env);
  return `From another terminal:

  ${purlin} trace            # show claims and composite resources
  ${purlin} apply FILE…      # apply more manifests
  ${purlin} get TYPE         # list objects, as kubectl get does`;
}

function shortest(cwd: string, path: string): string {
  const short = relative(cwd, path);
  return short.startsWith("..") ? path : short;
}

/** The path of the log of a control plane. */
export function logPath(directory: string): string {
  return join(directory, "purlin.log");
}
