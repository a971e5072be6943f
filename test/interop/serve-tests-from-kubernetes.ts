// SPDX-License-Identifier: Apache-2.0
// Loaded before a test file that uses startTestServer, it makes the file run on a real kube-apiserver and etcd.
import { serveTestsFrom } from "@purlin/kube-controller/testing";
import { startKubernetesServer } from "./kubernetes-server.ts";

serveTestsFrom(startKubernetesServer);
