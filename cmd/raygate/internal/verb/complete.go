package verb

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	raygate "github.com/raygate/raygate/clients/go"
	"github.com/raygate/raygate/cmd/raygate/internal/connect"
	"github.com/raygate/raygate/cmd/raygate/internal/kind"
	"github.com/raygate/raygate/cmd/raygate/internal/output"
	"github.com/raygate/raygate/cmd/raygate/internal/submit"
)

const (
	// completeLimit is how long a shell is kept waiting for names.
	completeLimit = 3 * time.Second
	// maxNames is the maximum number of completions.
	maxNames = 200
)

// completeObjects completes types, and names of objects by asking the gateway. needsName offers TYPE/ from the beginning.
func completeObjects(flags *connect.Flags, needsName bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		typeName, prefix, pair := strings.Cut(begun, "/")
		switch {
		case pair:
			k, err := kind.Named(typeName)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return names(cmd.Context(), flags, k, prefix, typeName+"/"), cobra.ShellCompDirectiveNoFileComp
		case len(args) == 0:
			return types(begun, needsName), cobra.ShellCompDirectiveNoFileComp
		case strings.Contains(args[0], "/"):
			return types(begun, needsName), cobra.ShellCompDirectiveNoFileComp
		}
		k, err := kind.Named(args[0])
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		found := slices.DeleteFunc(names(cmd.Context(), flags, k, begun, ""), func(name string) bool { return slices.Contains(args[1:], name) })
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeOne completes the name of one object of a kind, also behind its type.
func completeOne(flags *connect.Flags, of *raygate.Kind) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		k, _ := kind.OfObject(of.Name)
		prefix, before := begun, ""
		if typeName, name, pair := strings.Cut(begun, "/"); pair {
			prefix, before = name, typeName+"/"
		}
		return names(cmd.Context(), flags, k, prefix, before), cobra.ShellCompDirectiveNoFileComp
	}
}

func types(begun string, needsName bool) []string {
	var all []string
	for _, k := range kind.All() {
		all = append(all, k.Plural, k.Singular, k.Short+"s", k.Short)
	}
	if !needsName {
		all = append(all, kind.Everything)
	}
	return slices.DeleteFunc(all, func(name string) bool { return !strings.HasPrefix(name, begun) })
}

// names returns the names of objects, each after the text before.
func names(ctx context.Context, flags *connect.Flags, k *kind.Kind, prefix, before string) []string {
	found := fromGateway(ctx, flags, prefix, func(ctx context.Context, c completion) []string {
		return c.values(ctx, nameOf, k.Kind)
	})
	for i := range found {
		found[i] = before + found[i]
	}
	return found
}

// completion is a request for values that begin with a text.
type completion struct {
	client           *raygate.Client
	namespace, begun string
}

// question returns values, of which those that begin with the text are offered.
type question func(ctx context.Context, c completion) []string

// fromGateway returns the answer to a question. Errors are ignored, because completion in a shell cannot show them.
func fromGateway(ctx context.Context, flags *connect.Flags, begun string, ask question) []string {
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completeLimit)
	defer cancel()
	namespace, err := flags.NamespaceOrDefault()
	if err != nil {
		return nil
	}
	client, err := flags.Dial(nil)
	if err != nil {
		return nil
	}
	defer func() { _ = client.Close() }()
	return ask(ctx, completion{client, namespace, begun})
}

// completeFlags completes the values of flags that have a few.
func completeFlags(cmd *cobra.Command, flags *connect.Flags) {
	values := map[string][]string{
		"output": output.Forms, "dry-run": {"none", "server"}, "cascade": {"background", "foreground", "orphan"},
		"for": {"ready", "complete", "suspended", "deleted", "condition="}, "source": {"driver", "submitter"},
		"submission-mode": {"K8sJobMode", "HTTPMode", "SidecarMode"}, "gpu-type": submit.GPUTypes(),
		"order-by": {"name", "createTime", "state", "createTime desc"},
	}
	for name, possible := range values {
		if cmd.Flags().Lookup(name) != nil {
			_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(possible, cobra.ShellCompDirectiveNoFileComp))
		}
	}
	completeNames(cmd, flags)
	_ = cmd.RegisterFlagCompletionFunc("context", func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return beginning(slices.Collect(maps.Keys(contexts(cmd))), begun), cobra.ShellCompDirectiveNoFileComp
	})
}

// completeNames completes the flags that take a name, by asking the gateway.
func completeNames(cmd *cobra.Command, flags *connect.Flags) {
	for flag, ask := range map[string]question{
		"cluster": func(ctx context.Context, c completion) []string {
			return c.values(ctx, nameOf, raygate.ClusterKind)
		},
		"profile": func(ctx context.Context, c completion) (found []string) {
			profiles, _ := c.client.Profiles(ctx, c.namespace)
			for _, p := range profiles {
				found = append(found, p.GetName())
			}
			return found
		},
		// Callers who may not list LocalQueues are offered those in use.
		"queue": func(ctx context.Context, c completion) []string {
			if all, err := c.client.Queues(ctx, c.namespace); err == nil && len(all) > 0 {
				return all
			}
			queue := func(m proto.Message) string { return metaOf(m).GetLabels()[rayv1.LabelKueueQueue] }
			return c.values(ctx, queue, raygate.ClusterKind, raygate.JobKind)
		},
		// Those of the kubeconfig, and those with clusters if the caller may list them all.
		"namespace": func(ctx context.Context, c completion) []string {
			c.namespace = ""
			found := c.values(ctx, func(m proto.Message) string { return metaOf(m).GetNamespace() }, raygate.ClusterKind)
			for _, context := range contexts(cmd) {
				found = append(found, context.Namespace)
			}
			return found
		},
	} {
		if cmd.Flags().Lookup(flag) != nil {
			_ = cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
				return beginning(fromGateway(cmd.Context(), flags, begun, ask), begun), cobra.ShellCompDirectiveNoFileComp
			})
		}
	}
}

// values returns a text of each object of some kinds, of those that begin with the text at most maxNames of a kind.
func (c completion) values(ctx context.Context, text func(proto.Message) string, kinds ...*raygate.Kind) (found []string) {
	for _, k := range kinds {
		n := 0
		for m, err := range c.client.Messages(k, c.namespace).List(ctx, raygate.ListOptions{Basic: true, PageSize: maxNames}) {
			if err != nil || n == maxNames {
				break
			}
			if value := text(m); strings.HasPrefix(value, c.begun) {
				found, n = append(found, value), n+1
			}
		}
	}
	return found
}

// beginning returns the texts that begin with what is there, in order and each once.
func beginning(texts []string, begun string) []string {
	slices.Sort(texts)
	return slices.DeleteFunc(slices.Compact(texts), func(text string) bool { return text == "" || !strings.HasPrefix(text, begun) })
}

// contexts returns the contexts of the kubeconfig; nil if it cannot be read.
func contexts(cmd *cobra.Command) map[string]*clientcmdapi.Context {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath, _ = cmd.Flags().GetString("kubeconfig")
	config, err := rules.Load()
	if err != nil {
		return nil
	}
	return config.Contexts
}
