// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

contract Reverter {
    function fail() external payable {
        revert("always");
    }
}
