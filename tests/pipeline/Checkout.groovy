package leaselab

/** Fetches and checks out with git, finding revisions as Jenkins' git plugin finds them. */
class Checkout {
  static final Map<String, String> QUIET = [GIT_TERMINAL_PROMPT: '0', GIT_CONFIG_NOSYSTEM: '1']
  private final Build build
  private final Processes processes

  Checkout(Build build, Processes processes) {
    this.build = build
    this.processes = processes
  }

  /** The pipeline's own repository into a folder; return the variables that its steps get. */
  Map<String, String> own(File folder) {
    String hash = into(folder, build.options.repository, build.options.revision)
    [GIT_COMMIT: hash, GIT_BRANCH: build.options.revision, GIT_URL: build.options.repository]
  }

  /** What scmGit(...) describes, below a folder. Returns nothing. */
  void described(Map scm, File folder) {
    if (scm.branches.size() != 1 || scm.userRemoteConfigs.size() != 1) {
      throw new ModelError('checkout: one branch of one remote is fetched here, no more')
    }
    File place = folder
    (scm.extensions ?: []).each { Map extension ->
      if (extension.get('$class') != 'RelativeTargetDirectory') {
        throw new ModelError("checkout: the extension ${extension.get('$class')} is not done here")
      }
      place = new File(folder, extension.relativeTargetDir)
    }
    Map remote = scm.userRemoteConfigs[0]
    if (remote.credentialsId && build.options.credentials.containsKey(remote.credentialsId.toString())) throw new ModelError('checkout: credentials are not used here')
    if (remote.credentialsId) {
      build.log.line("Warning: CredentialId \"${remote.credentialsId}\" could not be found.")
    }
    into(place, remote.url.toString(), scm.branches[0].name.toString())
  }

  private String into(File folder, String url, String branch) {
    folder.mkdirs()
    if (!new File(folder, '.git').exists()) git(folder, 'init', '--quiet')
    git(folder, 'config', 'remote.origin.url', url)
    git(folder, 'fetch', '--tags', '--force', '--quiet', '--', url, '+refs/heads/*:refs/remotes/origin/*')
    String hash = find(folder, branch)
    if (hash == null) {
      throw new StepFailure("Couldn't find any revision to build. Verify the repository and branch configuration: ${branch} in ${url}")
    }
    build.log.line("Checking out Revision ${hash} (${branch})")
    git(folder, '-c', 'advice.detachedHead=false', 'checkout', '--quiet', '--force', hash)
    hash
  }

  /** A hash, then a branch of the remote, then a tag or whatever else git knows by this name; null for nothing. */
  private String find(File folder, String branch) {
    String name = branch.replaceFirst(/^\*\//, '')
    if (name.contains('*') || name.startsWith(':')) throw new ModelError("checkout: the pattern ${branch} is not done here")
    List<String> tries = name ==~ /[0-9a-f]{6,40}/ ? [name] : []
    if (!name.contains('/')) tries << "refs/remotes/origin/${name}"
    else if (name.startsWith('origin/')) tries << "refs/remotes/${name}"
    else if (name.startsWith('refs/heads/')) tries << "refs/remotes/origin/${name - 'refs/heads/'}"
    tries.addAll([name, "refs/remotes/origin/${name}"])
    tries.findResult { String reference ->
      List<String> said = []
      int exit = processes.run(['git', 'rev-parse', '--verify', '--quiet', "${reference}^{commit}".toString()], folder, QUIET) { said << it }
      exit == 0 ? said.last() : null
    }
  }

  private void git(File folder, String... words) {
    build.log.line(" > git ${words.join(' ')}")
    int exit = processes.run(['git'] + (words as List), folder, QUIET)
    if (exit != 0) throw new StepFailure("git ${words[0]} ended with ${exit}")
  }
}
