//go:build needed

package needed
import _ "k8s.io/kubernetes/cmd/kube-apiserver/app"
import _ "k8s.io/kubernetes/cmd/kube-controller-manager/app"
import _ "k8s.io/kubernetes/cmd/kube-scheduler/app"
import _ "k8s.io/kubectl/pkg/cmd"
