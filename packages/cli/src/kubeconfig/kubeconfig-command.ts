// SPDX-License-Identifier: Apache-2.0
import { relative, resolve } from "node:path";
import { issueUserKubeconfig, revokeUser } from "@purlin/kube-apiserver";
import type { KubeClient } from "@purlin/kube-client";
import { isNotFound } from "@purlin/kube-objects/errors";
import { type Cluster, openCluster } from "../cluster/cluster-client.ts";
import { writeOutput } from "../files/output-file.ts";
import type { Io } from "../io.ts";
import { type CommandInput, isSet, listOption, textOption } from "../options/command-spec.ts";
import { currentDataDir } from "../project/project-file.ts";
import { textOf, UserError } from "../user-error.ts";

const group = "rbac.authorization.k8s.io";
const roles = ["view", "edit", "admin"];
const mostDays = 365;

/** The person that a kubeconfig is for. */
interface Person {
  readonly name: string;
  readonly groups: readonly string[];
  /** Where the role is granted; undefined for the whole cluster. */
  readonly namespace: string | undefined;
  readonly role: string | undefined;
  readonly days: number;
}

/** `purlin kubeconfig --as NAME [--group G] [--namespace N] [--role view|edit|admin]`, or `--as NAME --revoke` */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
  const person = readPerson(input);
  await using cluster = await openCluster(input, io, { impersonates: false });
  if (isSet(input, "revoke")) {
    inDataDir(input, io, (directory) => revokeUser(directory, person.name));
    const count = await unbind(cluster.client, person.name, io);
    io.stdout.write(`certificates of ${person.name} are refused; bindings deleted: ${count}\n`);
    return;
  }
  const text = inDataDir(input, io, (directory) => issueUserKubeconfig(directory, person));
  if (person.role !== undefined) await bind(cluster.client, person, io);
  const output = textOption(input, "output");
  if (output === undefined) io.stdout.write(text);
  else {
    const report = await writeOutput(output, text, { io });
    report.write(`${relative(io.cwd, resolve(io.cwd, output))} is valid for ${person.days} days\n`);
  }
  await warnUnlessAllowed(cluster, person, io);
}

function readPerson(input: CommandInput): Person {
  const name = textOption(input, "as") ?? "";
  const role = textOption(input, "role");
  const groups = listOption(input, "group");
  const days = Number(textOption(input, "days") ?? 30);
  const problem = [name, ...groups].map(nameProblem).find(Boolean);
  if (problem !== undefined) throw new UserError(problem, { exitCode: 2 });
  if (role !== undefined && !roles.includes(role)) {
    throw new UserError(`--role ${role}: expected view, edit or admin`, { exitCode: 2 });
  }
  if (!Number.isInteger(days) || days < 1 || days > mostDays) {
    throw new UserError(`--days ${textOption(input, "days")}: expected an integer from 1 to ${mostDays}`, {
      exitCode: 2,
    });
  }
  const more = ["role", "group", "namespace", "output"].find(
    (option) => [input.options[option] ?? []].flat().length > 0,
  );
  if (isSet(input, "revoke") && more !== undefined) {
    throw new UserError(`--revoke revokes all access of the user: leave --${more} out`, { exitCode: 2 });
  }
  return { name, groups, role, days, namespace: textOption(input, "namespace") };
}

/** Names that begin with `system:` have rights of their own, which cannot be taken away. */
function nameProblem(name: string): string | undefined {
  if (name.startsWith("system:")) return `"${name}": names that begin with system: are reserved; choose another name`;
  return /^[A-Za-z0-9][-A-Za-z0-9_.@]*$/.test(name)
    ? undefined
    : `"${name}": expected letters, digits, "-", "_", "." or "@", and a letter or digit first`;
}

/** What is done with the keys in the data directory. */
function inDataDir<T>(input: CommandInput, io: Io, work: (directory: string) => T): T {
  const directory = currentDataDir(input, io);
  try {
    return work(directory);
  } catch (error) {
    throw new UserError(`--data-dir ${relative(io.cwd, directory) || "."}: ${textOf(error)}`, { cause: error });
  }
}

/** Grants the role in a namespace, or in the whole cluster. */
async function bind(client: KubeClient, { name, namespace, role }: Person, io: Io): Promise<void> {
  const binding = {
    apiVersion: `${group}/v1`,
    kind: namespace === undefined ? "ClusterRoleBinding" : "RoleBinding",
    metadata: { name: `purlin:${name}:${role}`, ...(namespace === undefined ? {} : { namespace }) },
    roleRef: { apiGroup: group, kind: "ClusterRole", name: role ?? "" },
    subjects: [{ apiGroup: group, kind: "User", name }],
  };
  try {
    await client.apply(binding, { fieldManager: "purlin-kubeconfig", force: true, signal: io.signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    throw new UserError(`--namespace ${namespace}: ${textOf(error)}: create it first`, { cause: error });
  }
}

interface Binding {
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** Deletes the bindings that {@link bind} made for a user, in all namespaces. Returns their number. */
async function unbind(client: KubeClient, user: string, io: Io): Promise<number> {
  const names = new Set(roles.map((role) => `purlin:${user}:${role}`));
  let count = 0;
  for (const resource of ["clusterrolebindings", "rolebindings"]) {
    const list = await client.raw({ method: "GET", path: `/apis/${group}/v1/${resource}`, signal: io.signal });
    const { items = [] } = (list ?? {}) as { readonly items?: readonly Binding[] };
    for (const { metadata } of items.filter((one) => names.has(one.metadata.name))) {
      const place = metadata.namespace === undefined ? "" : `/namespaces/${metadata.namespace}`;
      const path = `/apis/${group}/v1${place}/${resource}/${metadata.name}`;
      await client.raw({ method: "DELETE", path, signal: io.signal });
      count += 1;
    }
  }
  return count;
}

/** A server that does not evaluate roles, and a user without a role, allow nothing. */
async function warnUnlessAllowed(
  { client }: Cluster,
  { name, groups, namespace, role }: Person,
  io: Io,
): Promise<void> {
  if (role === undefined) return;
  const resourceAttributes = { verb: "get", resource: "configmaps", ...(namespace === undefined ? {} : { namespace }) };
  const body = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: { user: name, groups: [...groups, "system:authenticated"], resourceAttributes },
  };
  const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
  const answer = await client.raw({ method: "POST", path, body, signal: io.signal });
  const { status } = (answer ?? {}) as { readonly status?: { readonly allowed?: boolean } };
  if (status?.allowed === true) return;
  io.stderr.write(`warning: the server does not evaluate roles: start it without --authorization=admin\n`);
}
