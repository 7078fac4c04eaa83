# shellcheck shell=bash
# The step `tools`: what the boot image lacks.

prepare_tools() {
  [[ $BOOT_KIND != apt ]] || install_tools
  command -v docker >/dev/null || refuse "this boot image has no docker"
  [[ $BOOT_KIND != cos ]] || ((GPU_COUNT == 0)) || install_driver
}
