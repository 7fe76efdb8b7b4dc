/*
Copyright 2026 The pod-operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package docs

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/mycompany/pod-operator/internal/testkit/project"
)

// notRun are the blocks that TestCommands does not run, and why: a whole page, or a
// page and the beginning of the block.
var notRun = map[string]string{
	"docs/conformance.md":     "it starts clusters of its own; the tests of conformance run the suite and read the adapter of the page",
	"docs/explain.md":         "test/plugin runs it and compares the page with its transcripts",
	"docs/lab.md":             "make lab runs until Ctrl-C; test/lab opens the same page and presses its buttons, and the tests of lab/check grade the exercises",
	"docs/tour.md":            "test/examples runs it",
	"docs/tutorial/README.md": "test/tutorial runs it",
	"docs/any-workload.md":    "test/native types its plans, on a cluster without the operator",

	"README.md: $ kubectl podmanager plan":        "TestTheReadmeQuotesTheQuickstart: it is part of docs/start.md, which runs",
	"README.md: make up":                          "the tests of make up are in internal/playground; make test would run this test",
	"README.md: make docker-build":                "needs Docker and a registry",
	"docs/start.md: $ make up":                    "the tests of make up are in internal/playground",
	"docs/install.md: make image":                 "takes minutes; make e2e runs an image that is built with the same code",
	"docs/install.md: kind":                       "needs Docker and kind",
	"docs/install.md: minikube":                   "needs minikube",
	"docs/install.md: sudo k3s":                   "needs k3s",
	"docs/install.md: make docker-build":          "needs Docker and a registry",
	"docs/install.md: kubectl krew":               "needs krew and a release: test/release reads its manifest",
	"docs/install.md: tar":                        "needs a release: test/release makes one",
	"docs/dashboard.md: kubectl -n":               "needs containers, to forward a port to one",
	"CONTRIBUTING.md: make test":                  "make test would run this test",
	"CONTRIBUTING.md: make bin/kubebuilder":       "TestKubebuilderAddsAKind runs it in a copy of the project",
	"headlamp/README.md: make headlamp":           "needs npm and its registry; .ci/run makes it",
	"docs/e2e.md: $ make e2e":                     "needs real kubelets",
	"docs/performance.md: make bench":             "takes an hour",
	"docs/scale.md: make scale":                   "takes more than an hour; TestScale runs it with few pods",
	"docs/sharding.md: kustomize build":           "needs containers: test/shards runs the replicas as processes",
	"docs/from-the-tutorials.md: kubectl create":  "needs containers, to forward a port to one",
	"docs/olm.md: make bundle":                    "needs Docker and a registry; the tests of tools/bundle make the bundle",
	"docs/olm.md: make catalog":                   "opm takes minutes to build; test/release tests its input",
	"docs/olm.md: operator-sdk":                   "needs operator-sdk, OLM and a registry",
	"docs/operations.md: openssl":                 "needs a release: test/release makes and verifies one",
	"docs/operations.md: cosign":                  "needs a signed image: test/release signs one and runs these commands",
	"docs/operations.md: helm":                    "test/chart upgrades and uninstalls the chart",
	"docs/operations.md: kubectl podmanager why":  "its names stand for others, and it needs containers, for their logs",
	"docs/operations.md: kubectl delete podmanag": "test/chart uninstalls the chart, and it would end the playground of the other pages",

	"docs/gitops.md: apiVersion: kustomize.toolkit.fluxcd.io": "needs Flux",
	"docs/webhooks.md: apiVersion: apiserver.config.k8s.io":   "a file for the API server",
	"docs/webhooks.md: apiVersion: v1\nkind: Config":          "a file for the API server",
}

// before are commands that a reader's cluster has behind it, by page.
var before = map[string][]string{
	"docs/gitops.md":    {"kubectl create namespace argocd", "kubectl -n argocd create configmap argocd-cm"},
	"docs/collector.md": {"kubectl apply -f config/samples/apps_v1_podmanager.yaml", "kubectl create namespace shop", "kubectl create namespace bank"},
}

const quickstart = "docs/start.md"

// namespaces are where pages are typed whose commands or output name it; the others
// have one of their own.
var namespaces = map[string]string{quickstart: "default", "docs/collector.md": "default"}

// TestCommands types the documentation on a playground: each page in a shell and a
// namespace of its own, from its first block to its last. It applies objects in YAML,
// and writes those to a file that begin with the comment "# NAME.yaml". A block of the
// language sh has to run, and one of the language console also has to print what the
// page shows. A command that ends with "# refused" has to fail.
func TestCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts a playground: make test-rest runs it")
	}
	p := startPlayground(t)
	for _, page := range pagesWithCommands(t) {
		t.Run(page, func(t *testing.T) {
			var reader *reader
			for _, b := range blocks(read(t, page)) {
				if exception(page, b) != "" || !b.isFollowed() {
					continue
				}
				if reader == nil {
					reader = p.newReader(t, page)
				}
				reader.follow(b)
			}
		})
	}
}

func TestEveryBlockThatIsNotRunIsThere(t *testing.T) {
	used := map[string]bool{}
	for _, page := range pagesWithCommands(t) {
		for _, b := range blocks(read(t, page)) {
			used[exception(page, b)] = true
		}
	}
	for name, why := range notRun {
		if !used[name] {
			t.Errorf("notRun names %q (%s), and there is no such block", name, why)
		}
	}
}

// pagesWithCommands are the pages in English: test/translation compares the others
// with them.
func pagesWithCommands(t *testing.T) []string {
	t.Helper()
	all, err := newRepository(os.DirFS(root)).documents()
	if err != nil {
		t.Fatal(err)
	}
	// The quickstart shows what is there after make up.
	pages := []string{quickstart}
	for _, page := range all {
		if page != quickstart && !strings.HasPrefix(page, "docs/zh/") {
			pages = append(pages, page)
		}
	}
	return pages
}

// exception is the name in notRun under which a block is.
func exception(page string, b block) string {
	for name := range notRun {
		if name == page || strings.HasPrefix(page+": "+b.text, name) {
			return name
		}
	}
	return ""
}

// playground is a playground of this test's own, and the folder in which a reader types.
type playground struct {
	t      *testing.T
	folder string
}

func startPlayground(t *testing.T) *playground {
	t.Helper()
	p := &playground{t: t, folder: t.TempDir()}
	// A copy, because a reader is told to edit it.
	if err := os.CopyFS(filepath.Join(p.folder, "config"), os.DirFS(filepath.Join(project.Root(), "config"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(project.Root(), "bin"), filepath.Join(p.folder, "bin")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if out, err := p.command(context.Background(), "down").CombinedOutput(); err != nil {
			t.Errorf("stop the playground: %v\n%s", err, out)
		}
	})
	if out, err := p.command(t.Context(), "up", "--detach").CombinedOutput(); err != nil {
		t.Fatalf("start the playground, from what make build built: %v\n%s", err, out)
	}
	return p
}

func (p *playground) command(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, filepath.Join("bin", "playground"), args...)
	command.Dir = p.folder
	return command
}

// reader types one page into one shell.
type reader struct {
	t    *testing.T
	page string
	in   io.Writer
	out  *bufio.Reader
	stop func()
}

func (p *playground) newReader(t *testing.T, page string) *reader {
	t.Helper()
	shell := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc")
	shell.Dir = p.folder
	bin := filepath.Join(p.folder, "bin")
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	shell.Env = append(os.Environ(), "HOME="+p.folder, "PATH="+bin+":"+os.Getenv("PATH"), "KUBECONFIG="+kubeconfig)
	// What the page starts in the background ends with the shell.
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	shell.Cancel = func() error { return syscall.Kill(-shell.Process.Pid, syscall.SIGKILL) }
	in, err := shell.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := shell.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	r := &reader{t: t, page: page, in: in, out: bufio.NewReader(out), stop: func() { _ = shell.Cancel() }}
	t.Cleanup(func() {
		r.stop()
		_ = shell.Wait() // it was killed
	})
	r.must(fmt.Sprintf("cp $(bin/playground kubeconfig) %s", kubeconfig))
	r.enter()
	for _, command := range before[page] {
		r.must(command)
	}
	return r
}

// enter makes the page's namespace the one that kubectl uses.
func (r *reader) enter() {
	r.t.Helper()
	name := namespaces[r.page]
	if name == "" {
		name = strings.ToLower(strings.TrimSuffix(strings.ReplaceAll(strings.TrimPrefix(r.page, "docs/"), "/", "-"), ".md"))
		r.must("kubectl create namespace " + name)
	}
	r.must("kubectl config set-context --current --namespace=" + name)
	r.must("kubectl wait --for=create serviceaccount/default")
}

var (
	fileName = regexp.MustCompile(`\A# (\S+\.yaml)\n`)
	kind     = regexp.MustCompile(`(?m)^kind: `)
	typed    = regexp.MustCompile(`(?m)^(\$ )?(kubectl|make|helm|kustomize|go run) `)
)

// isFollowed says that a block asks the reader to do something. Parts of objects and
// programs do not.
func (b block) isFollowed() bool {
	switch b.language {
	case "sh", "console", "bash", "shell":
		return true
	case "yaml":
		return kind.MatchString(b.text)
	case "":
		return typed.MatchString(b.text)
	}
	return false
}

// follow does what a block asks the reader to do.
func (r *reader) follow(b block) {
	r.t.Helper()
	where := fmt.Sprintf("%s:%d", r.page, b.line)
	switch b.language {
	case "sh", "console":
		for _, s := range b.steps() {
			r.step(where, s)
		}
	case "yaml":
		r.yaml(where, b.text)
	default:
		r.t.Errorf("%s: commands are in blocks of the language sh or, with their output, console", where)
	}
}

// yaml applies objects, or writes them to the file that they are for.
func (r *reader) yaml(where, text string) {
	r.t.Helper()
	if name := fileName.FindStringSubmatch(text); name != nil {
		r.step(where, step{command: fmt.Sprintf("cat > %s <<'YAML'\n%sYAML\n", name[1], text)})
		return
	}
	r.step(where, step{command: fmt.Sprintf("kubectl apply -f - <<'YAML'\n%sYAML\n", text)})
	if strings.Contains(text, "kind: PodManager") {
		r.step(where, step{command: "kubectl wait --for=condition=Ready --timeout=2m pm --all\n"})
	}
	if strings.Contains(text, "kind: Deployment") {
		r.step(where, step{command: "kubectl wait --for=condition=Available --timeout=2m deployment --all\n"})
	}
}

// asks are the commands that change nothing. A reader sees what the page shows when
// the operator has done its work, so they are typed until they agree.
var asks = regexp.MustCompile(`^kubectl (get|describe|wait|podmanager (status|why|why-not|plan|events|rollout (status|history))) `)

const patience = 2 * time.Minute

func (r *reader) step(where string, s step) {
	r.t.Helper()
	var printed string
	try := func(context.Context) (bool, error) {
		var code int
		printed, code = r.run(s.command)
		// With 2, the plugin ends an answer at which a script should stop.
		answered := code == 0 || code == 2 && strings.HasPrefix(s.command, "kubectl podmanager ")
		refused := strings.Contains(s.command, "# refused")
		return answered != refused && (s.shows == "" || s.agrees(printed)), nil
	}
	limit := time.Duration(0)
	if asks.MatchString(s.command) {
		limit = patience
	}
	if err := wait.PollUntilContextTimeout(r.t.Context(), 200*time.Millisecond, limit, true, try); err != nil {
		r.t.Errorf("%s: $ %s--- the page shows:\n%s--- it prints:\n%s", where, s.command, s.shows, printed)
	}
}

func (r *reader) must(command string) {
	r.t.Helper()
	if printed, code := r.run(command + "\n"); code != 0 {
		r.t.Fatalf("%s: $ %s: exit code %d\n%s", r.page, command, code, printed)
	}
}

// end follows the output of a command, with its exit code.
const end = "--- the command has ended with "

// run types a command, and returns what it printed and its exit code.
func (r *reader) run(command string) (printed string, code int) {
	r.t.Helper()
	defer time.AfterFunc(6*time.Minute, r.stop).Stop()
	if _, err := fmt.Fprintf(r.in, "{ %s} </dev/null 2>&1; code=$?; echo; echo '%s'$code\n", command, end); err != nil {
		r.t.Fatalf("%s: type %s: %v", r.page, command, err)
	}
	var said strings.Builder
	for {
		line, err := r.out.ReadString('\n')
		if err != nil {
			r.t.Fatalf("%s: $ %s: the shell ended: %v\n%s", r.page, command, err, said.String())
		}
		if _, err := fmt.Sscanf(line, end+"%d", &code); err == nil {
			return strings.TrimSuffix(said.String(), "\n"), code
		}
		said.WriteString(line)
	}
}
