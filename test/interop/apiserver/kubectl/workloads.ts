// SPDX-License-Identifier: Apache-2.0
import type { Script } from "./step.ts";

const job = `
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: "0 3 * * *"
  jobTemplate:
    spec:
      template:
        spec: {restartPolicy: Never, containers: [{name: c, image: c:1}]}
`;

/** Workloads as objects: neither server runs them, and the commands around them still work. */
export const workloads: Script = {
  name: "workloads",
  steps: [
    { run: "create namespace workloads" },
    { run: "create deployment web --image=web:1 --replicas=2 --port=80" },
    { run: "get deployments -o wide" },
    { run: "get all" },
    { run: "scale deployment web --replicas=5" },
    { run: "scale deployment web --replicas=1 --current-replicas=9" },
    { run: "get deployment web -o jsonpath='{.spec.replicas} {.metadata.generation}'" },
    { run: "get deployment web --subresource=scale" },
    { run: "get deployment web --subresource=scale -o yaml" },
    { run: "set image deployment/web web=web:2" },
    { run: "set env deployment/web A=1 B=2" },
    { run: "set resources deployment web --limits=cpu=200m,memory=64Mi" },
    { run: "set serviceaccount deployment web robot" },
    { run: "get deployment web -o yaml" },
    { run: "describe deployment web" },
    // Long enough to look once: what it prints then is what there is to see.
    { run: "rollout status deployment web --timeout=5s" },
    { run: "rollout history deployment web" },
    { run: "rollout pause deployment web" },
    { run: "rollout resume deployment web" },
    { run: "rollout restart deployment web" },
    { run: "expose deployment web --port=80 --cluster-ip=None" },
    { run: "get service web -o yaml" },
    { run: "describe service web" },
    { run: "create service nodeport outside --tcp=80 --dry-run=client -o yaml" },
    { run: "apply -f -", input: job },
    { run: "get cronjobs" },
    { run: "create job once --from=cronjob/nightly" },
    { run: "get jobs" },
    { run: "get job once -o jsonpath='{.metadata.ownerReferences[0].kind} {.spec.completions} {.spec.suspend}'" },
    { run: 'run lone --image=lone:1 --labels=run=lone --overrides=\'{"spec":{"serviceAccountName":"default"}}\'' },
    { run: "get pod lone" },
    { run: "get pods -o wide --field-selector status.phase=Pending" },
    {
      run: 'patch pod lone --subresource=status --type=merge -p \'{"status":{"phase":"Running","podIP":"10.1.1.1"}}\'',
    },
    { run: "get pods -o wide" },
    { run: 'patch pod lone -p \'{"spec":{"containers":[{"name":"lone","image":"lone:2"}]}}\'' },
    // The difference is shown in the form of the reference's own types, and ours in that of the object.
    { run: 'patch pod lone -p \'{"spec":{"restartPolicy":"Never"}}\'', ignore: /^(@@| |[-+] |$)/ },
    { run: "create role reader --verb=get,list --resource=pods,configmaps" },
    { run: "create rolebinding readers --role=reader --serviceaccount=workloads:default" },
    { run: "create clusterrole workloads-reader --verb=get --resource=namespaces" },
    { run: "get roles,rolebindings -o wide" },
    { run: "describe role reader" },
    { run: "delete pod lone --grace-period=0 --force" },
    { run: "delete deployment,service,job,cronjob,role,rolebinding --all", unordered: true },
    { run: "delete clusterrole workloads-reader" },
    { run: "get all" },
  ],
};
