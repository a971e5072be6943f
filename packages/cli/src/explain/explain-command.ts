// SPDX-License-Identifier: Apache-2.0
import {
  causeTable,
  causeText,
  type Explanation,
  exitCodes,
  explainAll,
  explainObject,
  explanationText,
  groupByCause,
  groupText,
  isCauseCode,
  type RunHistory,
} from "@purlin/explain";
import { guardTransport } from "@purlin/kube-client";
import { isNotFound } from "@purlin/kube-objects/errors";
import type { KubeObject } from "@purlin/kube-objects/object";
import { type Cluster, openCluster } from "../cluster/cluster-client.ts";
import { findTargets } from "../cluster/find-resource.ts";
import { withCommandName } from "../command-name.ts";
import { harmless } from "../harmless.ts";
import type { Io } from "../io.ts";
import { type CommandInput, isSet, textOption } from "../options/command-spec.ts";
import { printData, readOutput } from "../options/data-output.ts";
import { errorEntry, isUserError, textOf, UserError } from "../user-error.ts";

const version = "explain.purlin.dev/v1alpha1";

/** `purlin explain [TYPE/NAME]` */
export async function run(input: CommandInput, io: Io): Promise<number> {
  const output = readOutput(input, ["text", "json", "yaml"]);
  const code = textOption(input, "code");
  if (code !== undefined) return printCode(code, output, io);
  try {
    return await explain(input, output, io);
  } catch (error) {
    if (output === "text" || !isUserError(error)) throw error;
    const { message, exitCode } = error;
    printData({ apiVersion: version, kind: "Explanation", errors: [{ ...errorEntry(error) }] }, output, io);
    io.stderr.write(`error: ${harmless(message)}\n`);
    return exitCode;
  }
}

function printCode(text: string, output: string, io: Io): number {
  const code = text.toUpperCase();
  if (!isCauseCode(code)) throw new UserError(`--code ${text}: unknown code: expected E01 to E68`, { exitCode: 2 });
  if (output === "text") io.stdout.write(causeText(code));
  else printData({ code, ...causeTable[code] }, output, io);
  return 0;
}

async function explain(input: CommandInput, output: string, io: Io): Promise<number> {
  // XRDs are read in each version that may be served: a warning that one is deprecated is not about any object.
  await using cluster = await openCluster(input, io, { transport: guardTransport, ignoresWarnings: true });
  const history = lazyHistory(cluster, io);
  const options = { client: cluster.client, signal: io.signal, history, ...systemNamespace(input) };
  if (input.args.length === 0) return explainUnhealthy(await explainAll(options), output, io);
  const explanations: Explanation[] = [];
  for (const object of await findObjects(input, cluster, io)) explanations.push(await explainObject(object, options));
  const [only, ...others] = explanations;
  if (output !== "text") {
    const list = { apiVersion: version, kind: "ExplanationList", items: explanations };
    printData(only !== undefined && others.length === 0 ? only : list, output, io);
  } else {
    const all = isSet(input, "all");
    const texts = explanations.map((one) => explanationText(withTypedCommands(one, io), { all }));
    io.stdout.write(harmless(texts.join("\n")));
  }
  return worstOf(explanations);
}

/** An explanation whose next steps name this command as its user would type it. */
export function withTypedCommands(explanation: Explanation, { env }: Pick<Io, "env">): Explanation {
  const causes = explanation.causes.map((cause) => ({
    ...cause,
    next: cause.next.map((text) => withCommandName(text, env)),
  }));
  return { ...explanation, causes };
}

/** Recorded runs. The code that reads them is loaded for the causes that need it: most do not. */
function lazyHistory({ client }: Cluster, io: Io): RunHistory {
  let opened: Promise<RunHistory | undefined> | undefined;
  return {
    async runsOf(composite, limit) {
      opened ??= import("./recorded-history.ts").then(({ recordedHistory }) => recordedHistory(client, io.signal));
      return (await opened)?.runsOf(composite, limit) ?? [];
    },
  };
}

function systemNamespace(input: CommandInput): { readonly systemNamespace?: string } {
  const name = textOption(input, "systemNamespace");
  return name === undefined ? {} : { systemNamespace: name };
}

async function findObjects(input: CommandInput, { client, namespace }: Cluster, io: Io): Promise<KubeObject[]> {
  const objects: KubeObject[] = [];
  for (const { resource, name } of await findTargets(client, input.args, io.signal)) {
    const within = resource.namespaced ? namespace : undefined;
    if (name === undefined) {
      objects.push(...(await client.list(resource, { namespace: within, signal: io.signal })).items);
      continue;
    }
    const read = client.get(resource, { name, namespace: within }, { signal: io.signal });
    objects.push(
      await read.catch((error: unknown) => {
        throw new UserError(isNotFound(error) ? `${textOf(error)}: check the name and --namespace` : textOf(error), {
          cause: error,
        });
      }),
    );
  }
  return objects;
}

type AllExplanations = Awaited<ReturnType<typeof explainAll>>;

function explainUnhealthy({ explanations, notRead, total }: AllExplanations, output: string, io: Io): number {
  const groups = groupByCause(explanations);
  if (output !== "text") {
    const summary = groups.map(({ code, objects, example }) => ({
      ...(code === undefined ? {} : { code }),
      verdict: example.verdict,
      objects,
    }));
    printData(
      { apiVersion: version, kind: "ExplanationList", groups: summary, items: explanations, notRead },
      output,
      io,
    );
    return exitCodeOf(explanations, notRead);
  }
  if (explanations.length === 0 && notRead.length > 0) {
    io.stdout.write("No unhealthy object was found among those that could be read\n");
  } else if (explanations.length === 0) {
    io.stdout.write(`All ${total} claims and composite resources, and all packages, are healthy\n`);
  }
  const texts = groups.map((group) => groupText({ ...group, example: withTypedCommands(group.example, io) }));
  io.stdout.write(harmless(texts.join("\n")));
  for (const line of notRead) io.stdout.write(harmless(`Not read: ${line}\n`));
  return exitCodeOf(explanations, notRead);
}

/** What could not be read may be unhealthy: without a cause elsewhere, the command did not work. */
function exitCodeOf(explanations: readonly Explanation[], notRead: readonly string[]): number {
  const worst = worstOf(explanations);
  return worst === exitCodes.healthy && notRead.length > 0 ? 1 : worst;
}

/** Broken before unknown before waiting. */
function worstOf(explanations: readonly Explanation[]): number {
  const order = ["broken", "unknown", "waiting", "healthy"] as const;
  const worst = order.find((verdict) => explanations.some((one) => one.verdict === verdict)) ?? "healthy";
  return exitCodes[worst];
}
