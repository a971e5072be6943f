// SPDX-License-Identifier: Apache-2.0
// The real peers that recordings are made from, each started when it is first needed.
import { spawnSync } from "node:child_process";
import { type JsonObject, type JsonValue, parseJson, printJson } from "../../packages/kube-objects/src/json/index.ts";
import { cacheDirectory } from "../peers/cache-directory.ts";
import { crossplaneAnswers, crossplaneAnswersIn } from "../peers/crossplane-answers.ts";
import { answersIn, kubernetesAnswers } from "../peers/kubernetes-answers.ts";
import { installed } from "../peers/peer.ts";
import { type RealCluster, startRealCluster } from "../peers/real-cluster.ts";
import { ServerClient } from "./server-client.ts";

function ask(program: string, subject: string, questions: readonly JsonValue[]): JsonObject[] {
  const input = printJson([...questions]);
  const { status, stdout, stderr } = spawnSync(program, [subject], { input, encoding: "utf8", maxBuffer: 1 << 30 });
  if (status !== 0) throw new Error(`${subject}: ${stderr}`);
  const answers = parseJson(stdout) as JsonObject[];
  for (const [index, { failed }] of answers.entries()) {
    if (failed !== undefined) throw new Error(`${subject}, question ${index}: ${String(failed)}`);
  }
  return answers;
}

export class Peers {
  #cluster: Promise<RealCluster> | undefined;
  #client: Promise<ServerClient> | undefined;

  /** Asks the libraries of Kubernetes. See tools/record/go. */
  askLibraries(subject: string, questions: readonly JsonValue[]): JsonObject[] {
    return ask(answersIn(installed(kubernetesAnswers, cacheDirectory)), subject, questions);
  }

  /** Asks the libraries of Crossplane. See tools/record/crossplane-go. */
  askCrossplane(subject: string, questions: readonly JsonValue[]): JsonObject[] {
    return ask(crossplaneAnswersIn(installed(crossplaneAnswers, cacheDirectory)), subject, questions);
  }

  /** A client of a real kube-apiserver, which all recordings share. */
  async server(): Promise<ServerClient> {
    this.#cluster ??= startRealCluster({ controllers: ["serviceaccount-controller", "namespace-controller"] });
    this.#client ??= this.#cluster.then((cluster) => ServerClient.of(cluster));
    return this.#client;
  }

  async stop(): Promise<void> {
    (await this.#client)?.close();
    await (await this.#cluster)?.stop();
  }
}
