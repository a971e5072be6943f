// SPDX-License-Identifier: Apache-2.0

import { setTimeout } from "node:timers/promises";
import type { KubeClient } from "@purlin/kube-client";
import { isAlreadyExists } from "@purlin/kube-objects/errors";
import type { KubeObject, TypeRef } from "@purlin/kube-objects/object";
import { dnsLabel, formatReference, parseReference } from "@purlin/oci";
import { type PackageType, packageTypes } from "@purlin/package-manager";
import { openCluster } from "../cluster/cluster-client.ts";
import { commandName } from "../command-name.ts";
import { harmlessLine } from "../harmless.ts";
import type { Io } from "../io.ts";
import { type CommandInput, isSet, readTimeout, textOption } from "../options/command-spec.ts";
import { actionReport, printData, readOutput } from "../options/data-output.ts";
import { createStyle } from "../terminal/style.ts";
import { textOf, UserError } from "../user-error.ts";
import { asUserError } from "./xpkg-workspace.ts";

const pollMs = 250;

const wanted = ["Installed", "Healthy"];

/** What to wait for, and how long. */
interface PackageWait {
  readonly type: TypeRef;
  readonly name: string;
  readonly waitMs: number;
  readonly io: Io;
}

interface Condition {
  readonly type?: string;
  readonly status?: string;
  readonly reason?: string;
  readonly message?: string;
}

/** `purlin xpkg install KIND IMAGE [NAME]` */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
  const type = typeOf(input.args[0] ?? "");
  const object = packageObject(type, input);
  const name = object.metadata.name ?? "";
  const waitMs = readTimeout(textOption(input, "timeout") ?? "5m");
  const output = readOutput(input, ["text", "json", "yaml"]);
  await using cluster = await openCluster(input, io);
  try {
    await cluster.client.create(object, {
      fieldManager: "purlin-install",
      fieldValidation: "Strict",
      signal: io.signal,
    });
  } catch (error) {
    throw new UserError(`${textOf(error)}${isAlreadyExists(error) ? updateHint(object, io) : ""}`, { cause: error });
  }
  const style = createStyle(io.stdout, io.env);
  if (output === "text") io.stdout.write(`${type.kind} ${name} created\n`);
  if (isSet(input, "wait")) await waitForPackage(cluster.client, { type: type.package, name, waitMs, io });
  if (output !== "text") return printData(actionReport([{ object, action: "created" }]), output, io);
  if (isSet(input, "wait")) {
    io.stdout.write(`${type.kind} ${name} is ${style.good("installed and healthy")}\n`);
    return undefined;
  }
  const get = `${commandName(io.env)} get ${type.kind.toLowerCase()}s ${name}`;
  io.stdout.write(`Next:\n  ${style.code(get)}\n`);
  return undefined;
}

function typeOf(kind: string): PackageType {
  const found = Object.values(packageTypes).find((type) => type.kind.toLowerCase() === kind.toLowerCase());
  if (found !== undefined) return found;
  throw new UserError(`unknown package kind ${JSON.stringify(kind)}: use function, provider or configuration`, {
    exitCode: 2,
  });
}

function packageObject(type: PackageType, input: CommandInput): KubeObject {
  const [, image = "", given] = input.args;
  try {
    const reference = parseReference(image);
    const limit = historyLimit(input);
    return {
      ...type.package,
      metadata: { name: given ?? dnsLabel(reference.repository) },
      spec: {
        package: formatReference(reference),
        ...(isSet(input, "manualActivation") && { revisionActivationPolicy: "Manual" }),
        // Not sent unless given: 0 would keep all revisions for ever.
        ...(limit !== undefined && { revisionHistoryLimit: limit }),
      },
    };
  } catch (error) {
    throw asUserError(error);
  }
}

function historyLimit(input: CommandInput): number | undefined {
  const text = textOption(input, "revisionHistoryLimit");
  if (text === undefined) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new UserError(`--revision-history-limit ${text}: expected a number, 0 or more`, { exitCode: 2 });
}

function updateHint({ kind, metadata, spec }: KubeObject, io: Io): string {
  const patch = JSON.stringify({ spec: { package: (spec as { package: string }).package } });
  const command = `${commandName(io.env)} patch ${kind.toLowerCase()} ${metadata.name} '${patch}'`;
  return `: change it with ${command}, or choose another name`;
}

/** Waits until a package is installed and healthy, and prints what it waits for. */
async function waitForPackage(client: KubeClient, { type, name, waitMs, io }: PackageWait): Promise<void> {
  const limit = performance.now() + waitMs;
  let reported = "";
  for (;;) {
    const problem = problemOf(await client.get(type, { name }, { signal: io.signal }));
    if (problem === undefined) return;
    if (performance.now() > limit) {
      throw new UserError(`${type.kind} ${name} is not ready: ${problem}: fix it, or increase --timeout`);
    }
    if (problem !== reported) io.stderr.write(`waiting: ${harmlessLine(problem)}\n`);
    reported = problem;
    await setTimeout(pollMs, undefined, { signal: io.signal });
  }
}

/** What is in the way; undefined when nothing is. */
export function problemOf(object: KubeObject): string | undefined {
  const { conditions = [] } = (object["status"] ?? {}) as { conditions?: readonly Condition[] };
  const missing = wanted.filter((type) => !conditions.some((one) => one.type === type && one.status === "True"));
  if (missing.length === 0) return undefined;
  // A condition with a message is more useful than one that is not set yet.
  const found = missing.flatMap((type) => conditions.filter((one) => one.type === type));
  const { type, reason, message } = found.find((one) => one.message) ?? found[0] ?? { type: missing[0] };
  return [`not ${type}`, reason, message].filter(Boolean).join(": ").replaceAll(/\s+/g, " ");
}
